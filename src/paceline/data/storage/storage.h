#pragma once

#include "paceline/base/error.h"
#include "paceline/data/storage/input_file.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// The other side was too busy, too late or out of reach: the same read may work a moment later.
struct TransientError : base::DataError {
  /// `seconds`: for which the other side asks us to wait first.
  explicit TransientError(const std::string& message, double seconds = 0)
      : DataError(message), wait_s(seconds) {}
  double wait_s;
};

/// What is known of a file or folder without opening it.
struct FileFacts {
  bool is_folder = false;
  std::uint64_t size = 0;  ///< in bytes; 0 for folders
  /// Another number when the content is another: nanoseconds since the Unix epoch, or below zero a
  /// hash of what a server calls the version.
  std::int64_t changed = 0;

  friend bool operator==(const FileFacts&, const FileFacts&) = default;
};

/// What lies in a folder.
struct FileEntry {
  std::string name;  ///< without the folder's path
  FileFacts facts;
};

/// Where data lies: the folders of this machine, a bucket, a server. Paths are those of a recipe:
/// "/data/x", "s3://bucket/x", "gs://bucket/x", "https://host/x", "hf:owner/name/x". Thread-safe.
class Storage {
 public:
  virtual ~Storage() = default;
  /// Throws DataError that names the file and what is wrong with it.
  virtual std::unique_ptr<const InputFile> open(const std::string& path) const = 0;
  /// The same for a file whose facts are known already: remote storage need not ask for them. If
  /// they are not true any more, reads throw or give bytes of the file as it is now.
  virtual std::unique_ptr<const InputFile> open_known(const std::string& path,
                                                      const FileFacts& /*facts*/) const {
    return open(path);
  }
  /// Nothing if there is no such file or folder. A folder of a bucket is there if a file is in it.
  virtual std::optional<FileFacts> facts(const std::string& path) const = 0;
  /// What lies directly in a folder, sorted by name. Throws DataError if it is not there.
  virtual std::vector<FileEntry> list(const std::string& folder) const = 0;
  /// How many small reads it pays to have under way at once. They wait for the disk or the network,
  /// not for the cores: a network disk answers that many in the time of one.
  virtual int num_connections() const { return 32; }
  /// Where this machine keeps what was read elsewhere, as copies of whole files; empty: nowhere.
  virtual std::filesystem::path cache_folder() const;
  /// Throws Interrupted, which says what was being done ("listing ..."), if the program was asked
  /// to stop: for long work between reads. Reads go on, as a step at work may need them.
  virtual void check_interruption(std::string_view /*doing*/) const {}
};

/// "s3" of "s3://bucket/x", "hf" of "hf:owner/name"; empty for paths of this machine, among them
/// those with "file://" before them.
std::string_view remote_scheme(std::string_view path);

/// Whether `path` is of another machine.
bool is_remote(const std::string& path);

bool is_file(const Storage& storage, const std::filesystem::path& path);
bool is_folder(const Storage& storage, const std::filesystem::path& path);

/// The facts of a file. Throws DataError if there is none, or it is a folder.
FileFacts file_facts(const Storage& storage, const std::string& path);

/// The facts of each path. Of remote ones it asks for many at once, which takes the time of one.
std::vector<std::optional<FileFacts>> facts_of_all(const Storage& storage,
                                                   const std::vector<std::filesystem::path>& paths);

/// The content of a small file. Throws DataError for one of more than 256 MiB.
std::string read_text(const Storage& storage, const std::string& path);

/// `path` itself if it is remote or absolute, else its place in `folder`; both may be remote.
std::filesystem::path path_in(const std::filesystem::path& folder,
                              const std::filesystem::path& path);

/// The path without "file://" before it.
std::string without_file_scheme(std::string_view path);

/// The files of this machine.
std::shared_ptr<const Storage> local_storage();

}  // namespace paceline::data
