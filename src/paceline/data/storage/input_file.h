#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace paceline::data {

/// Bytes of a file and the memory for them.
struct FilePart {
  std::uint64_t offset = 0;
  std::span<std::uint8_t> target;
};

/// A file open for reads at any place. Reads are pure and may come from any thread.
class InputFile {
 public:
  virtual ~InputFile() = default;
  InputFile& operator=(InputFile&&) = delete;
  const std::string& path() const { return path_; }  ///< as it was asked for
  std::uint64_t size() const { return size_; }       ///< in bytes, when it was opened

  /// Fills `target` from byte `offset` on. Throws DataError that names the file and the place if
  /// it ends before that or cannot be read.
  virtual void read(std::uint64_t offset, std::span<std::uint8_t> target) const = 0;
  /// The same for bytes that will not be wanted again, so that a cache need not keep them.
  virtual void read_once(std::uint64_t offset, std::span<std::uint8_t> target) const {
    read(offset, target);
  }
  /// Reads several parts, sorted by offset, which may overlap. Remote files fetch parts that lie
  /// close together, as those that it is worth to hand over together do, in one request.
  virtual void read_parts(std::span<const FilePart> parts) const {
    for (const FilePart& part : parts) read(part.offset, part.target);
  }

 protected:
  InputFile(std::string path, std::uint64_t size) : path_(std::move(path)), size_(size) {}
  InputFile(InputFile&&) = default;

 private:
  std::string path_;
  std::uint64_t size_;
};

/// A file of which some bytes, from `offset` on, are in memory already; the others are read.
class PartlyReadFile final : public InputFile {
 public:
  /// Both must outlive it.
  PartlyReadFile(const InputFile& file, std::uint64_t offset, std::span<const std::uint8_t> bytes)
      : InputFile(file.path(), file.size()), file_(file), offset_(offset), bytes_(bytes) {}

  void read(std::uint64_t offset, std::span<std::uint8_t> target) const override;

 private:
  const InputFile& file_;
  std::uint64_t offset_;
  std::span<const std::uint8_t> bytes_;
};

/// Fills `target` from byte `offset` on with read_once() of `piece_bytes` each, of which up to
/// `num_at_once` are under way: a connection alone is slow.
void read_in_pieces(const InputFile& file, std::uint64_t offset, std::span<std::uint8_t> target,
                    std::uint64_t piece_bytes, int num_at_once);

/// A file of this machine. Movable.
class LocalFile final : public InputFile {
 public:
  /// Throws DataError that names the file and what is wrong with it.
  explicit LocalFile(const std::filesystem::path& path);
  LocalFile(LocalFile&& other) noexcept;
  LocalFile& operator=(LocalFile&&) = delete;
  ~LocalFile() override;

  void read(std::uint64_t offset, std::span<std::uint8_t> target) const override;

 private:
  struct Opened {
    int descriptor;
    std::uint64_t size;
  };
  static Opened open(const std::filesystem::path& path);
  LocalFile(const std::filesystem::path& path, Opened opened);

  int descriptor_;
};

}  // namespace paceline::data
