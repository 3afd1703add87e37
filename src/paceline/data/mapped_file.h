#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace paceline::data {

/// A whole file as read-only memory; its pages are shared with all processes that map it.
class MappedFile {
 public:
  /// Throws DataError that names the file if it cannot be read.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::uint8_t> bytes() const { return {start_, size_}; }

 private:
  const std::uint8_t* start_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace paceline::data
