#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace paceline::data {

/// An array of a MATLAB file; which member is filled depends on its class. Elements lie column by
/// column.
struct MatArray {
  std::vector<std::int64_t> shape;
  std::vector<double> numbers;  ///< of a numeric class; imaginary parts are left out
  std::string text;             ///< of characters, in ASCII; bytes of others are '?'
  std::vector<MatArray> cells;  ///< of a cell array
  /// Of a struct array: for each field its value in each element.
  std::map<std::string, std::vector<MatArray>> fields;
};

/// The variables of a MATLAB file of version 5 to 7 (not 7.3, which is HDF5) from a little-endian
/// machine, by name. Sparse arrays and objects come out empty. Throws DataError that names `name`
/// if it is damaged or of another kind. The format: MathWorks, "MAT-File Format", R2024b.
std::map<std::string, MatArray> read_mat_file(std::span<const std::uint8_t> bytes,
                                              const std::string& name);

}  // namespace paceline::data
