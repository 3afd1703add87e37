#pragma once

#include "paceline/base/error.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace paceline::base {

/// The operating system refused to read or write a file. The message names what was tried, the
/// path, the system's reason and the cure.
class FileError : public CheckpointError {
 public:
  /// `action` as in "write" or "rename".
  FileError(std::string_view action, const std::filesystem::path& path, int error_number);
  /// For what paceline refuses by itself; the reason ends with the cure.
  FileError(std::string_view action, const std::filesystem::path& path, std::string_view reason);
  const std::filesystem::path& path() const { return path_; }
  int error_number() const { return error_number_; }  ///< errno; EINVAL if paceline refused

 private:
  std::filesystem::path path_;
  int error_number_;
};

/// A file open for writing. Not thread-safe. The destructor closes it but cannot report errors:
/// call sync() or close() first.
class OutputFile {
 public:
  virtual ~OutputFile() = default;
  /// Writes all bytes or throws FileError; then the file is as long as it was before, unless it
  /// cannot be cut either, so that the same bytes can be written again.
  virtual void write(std::string_view bytes) = 0;
  /// What was written is on disk when this returns (fsync).
  virtual void sync() = 0;
  /// Throws FileError where the system reports a late write error; closing again does nothing.
  virtual void close() = 0;
};

/// All by which paceline changes files: the seam where tests put a full disk or a read-only folder.
/// A path's folders may be symbolic links, as to another disk. What is written itself may not be
/// one, nor anything else than a regular file: nobody's planted link leads a write astray. Every
/// function throws FileError. Thread-safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  /// Opens a new file for writing; it takes the place of a regular file of that name, whose other
  /// names (hard links) keep the old content.
  virtual std::unique_ptr<OutputFile> create(const std::filesystem::path& path) = 0;
  /// Opens for writing at the end; the file is made if it does not exist. A hard link is refused.
  virtual std::unique_ptr<OutputFile> append(const std::filesystem::path& path) = 0;
  /// Atomically replaces `to`: a file only a regular one, a folder only a folder.
  virtual void rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
  /// Gives a file a second name. False, and nothing was done, where both names cannot be of one
  /// file, as on different disks.
  virtual bool link(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
  /// Makes `link` a symbolic link to `target`, in place of a symbolic link that was there, and of
  /// nothing else. Not synced: nothing may depend on it.
  virtual void set_symlink(const std::filesystem::path& link,
                           const std::filesystem::path& target) = 0;
  /// The folder's entries are on disk when this returns.
  virtual void sync_directory(const std::filesystem::path& path) = 0;
  virtual void create_directories(const std::filesystem::path& path) = 0;
  /// Makes one folder in one that must be there; a folder that is there already is no error.
  virtual void create_directory(const std::filesystem::path& path) = 0;
  /// Removes a file or a folder with all in it; a path that does not exist is no error.
  virtual void remove_all(const std::filesystem::path& path) = 0;
};

/// The machine's own files.
class RealFileSystem final : public FileSystem {
 public:
  std::unique_ptr<OutputFile> create(const std::filesystem::path& path) override;
  std::unique_ptr<OutputFile> append(const std::filesystem::path& path) override;
  void rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  bool link(const std::filesystem::path& from, const std::filesystem::path& to) override;
  void set_symlink(const std::filesystem::path& link, const std::filesystem::path& target) override;
  void sync_directory(const std::filesystem::path& path) override;
  void create_directories(const std::filesystem::path& path) override;
  void create_directory(const std::filesystem::path& path) override;
  void remove_all(const std::filesystem::path& path) override;
};

/// Opens a regular file for what OutputFile cannot do, such as a lock, and makes it if it is not
/// there; never through a symbolic or a hard link. `flags` as of open(2), without O_CREAT and
/// O_TRUNC. The caller closes the descriptor. Throws FileError.
int open_regular_file(const std::filesystem::path& path, int flags);

/// The whole file, which must be a regular one (not a pipe, which may never end, or a device) of at
/// most so many bytes. Throws FileError.
std::string read_file(const std::filesystem::path& path,
                      std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max());

/// A name beside this one, for what is renamed to it when it is complete. Nobody can guess it, and
/// so nobody can put a link there.
std::filesystem::path unfinished_path(const std::filesystem::path& path);

/// Replaces the file so that at every moment, also after a crash, either the old or the new text is
/// there: written under a temporary name that nobody can guess, fsynced, renamed, the folder
/// fsynced. On an error the temporary file is removed and the old file stays. Throws FileError.
void write_file_atomically(FileSystem& files, const std::filesystem::path& path,
                           std::string_view text);

/// Makes a folder and those above it that are missing; they are on disk when this returns. Throws
/// FileError.
void create_durable_directories(FileSystem& files, const std::filesystem::path& path);

/// A file mapped into memory, read-only. Movable; empty files have no bytes. Throws FileError.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  /// Valid while this object lives. To touch bytes that the file has lost since ends the process.
  std::string_view bytes() const { return {data_, size_}; }
  /// Whether the file has still got all its bytes; asks the system, in a fraction of a microsecond.
  bool is_whole() const;

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
  int descriptor_ = -1;
};

/// A new folder under the system's temporary one, removed with all in it at the end of its life.
class TempDir {
 public:
  explicit TempDir(std::string_view prefix = "paceline");
  TempDir(TempDir&& other) noexcept;
  TempDir& operator=(TempDir&& other) = delete;
  ~TempDir();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace paceline::base
