#pragma once

#include "paceline/base/file.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::checkpoint {

/// Writes a zip archive of stored entries (zip64), each of whose contents begins at a multiple of
/// kAlignment bytes, as PyTorch's do. Throws FileError.
class ZipWriter {
 public:
  static constexpr std::uint64_t kAlignment = 64;

  /// The file is empty, and outlives the writer.
  explicit ZipWriter(base::OutputFile& file) : file_(file) {}

  void add(const std::string& name, std::string_view content);
  /// Writes the directory; nothing may be added later.
  void finish();

 private:
  struct Entry {
    std::string name;
    std::uint32_t checksum = 0;
    std::uint64_t size = 0;
    std::uint64_t header = 0;  ///< where it begins
  };

  void write(std::string_view bytes);

  base::OutputFile& file_;
  std::uint64_t position_ = 0;
  std::vector<Entry> entries_;
};

/// The CRC-32 of zip archives.
std::uint32_t crc32(std::string_view bytes);

}  // namespace paceline::checkpoint
