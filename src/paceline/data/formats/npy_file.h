#pragma once

#include "paceline/base/file.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// An array saved by NumPy, mapped into memory.
struct NpyArray {
  std::string name;  ///< the file
  std::shared_ptr<const base::MappedFile> owner;
  char kind = 'u';    ///< of the values: u unsigned, i signed integers, f floating point
  int item_size = 1;  ///< bytes a value
  std::vector<std::int64_t> shape;
  std::span<const std::uint8_t> bytes;  ///< the last index runs fastest
};

/// Opens a .npy file of format 1, 2 or 3. Throws DataError that names the file and what is wrong:
/// numbers in C order for little-endian machines are taken, all else is refused. The format: NumPy
/// Enhancement Proposal 1 and numpy.lib.format.
NpyArray open_npy(const std::filesystem::path& path);

/// Throws DataError unless the values are integers.
void require_integers(const NpyArray& array);

/// The values of an array, whatever its integers are. Throws DataError for one beyond 63 bits, or
/// other values.
std::vector<std::int64_t> npy_integers(const NpyArray& array);

/// What a .npy file of format 1 has before its values, which follow in C order. `descr` is NumPy's
/// name of their type: "<f4".
std::string npy_header(std::string_view descr, std::span<const std::int64_t> shape);

}  // namespace paceline::data
