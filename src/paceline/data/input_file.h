#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace paceline::data {

/// A file open for reads at any place. Reads are pure and may come from any thread. Movable.
class InputFile {
 public:
  /// Throws DataError that names the file and what is wrong with it.
  explicit InputFile(const std::filesystem::path& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }  ///< in bytes, when it was opened

  /// Fills `target` from byte `offset` on. Throws DataError that names the file and the place if
  /// it ends before that or cannot be read.
  void read(std::uint64_t offset, std::span<std::uint8_t> target) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace paceline::data
