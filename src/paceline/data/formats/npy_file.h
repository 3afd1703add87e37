#pragma once

#include "paceline/base/file.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace paceline::data {

/// An array saved by NumPy, mapped into memory.
struct NpyArray {
  std::string name;  ///< the file
  std::shared_ptr<const base::MappedFile> owner;
  char kind = 'u';    ///< of the values: u unsigned, i signed integers
  int item_size = 1;  ///< bytes a value
  std::vector<std::int64_t> shape;
  std::span<const std::uint8_t> bytes;  ///< the last index runs fastest
};

/// Opens a .npy file of format 1, 2 or 3. Throws DataError that names the file and what is wrong:
/// integers in C order for little-endian machines are taken, all else is refused. The format: NumPy
/// Enhancement Proposal 1 and numpy.lib.format.
NpyArray open_npy(const std::filesystem::path& path);

/// The values of an array, whatever its integers are. Throws DataError for one beyond 63 bits.
std::vector<std::int64_t> npy_integers(const NpyArray& array);

}  // namespace paceline::data
