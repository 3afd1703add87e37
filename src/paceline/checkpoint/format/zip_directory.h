#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace paceline::checkpoint {

/// Bytes of a file.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const { return end - begin; }
};

struct ZipEntry {
  ByteRange bytes;             ///< of its content, as it is stored
  bool is_compressed = false;  ///< or encrypted
};

/// The entries of a zip archive by their names. `file` are the bytes of all of it, also beyond 4
/// GiB (zip64). Throws CheckpointError that names `path` for what is truncated, out of bounds,
/// overlapping or named twice.
std::map<std::string, ZipEntry, std::less<>> read_zip_directory(std::string_view file,
                                                                const std::filesystem::path& path);

}  // namespace paceline::checkpoint
