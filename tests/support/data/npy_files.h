#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace paceline::test {

/// What NumPy saves of an array of this shape with the numbers first, first + 1, ...
template <class T>
std::string npy_file(const std::string& descr, const std::vector<std::int64_t>& shape,
                     int first = 0, bool is_fortran = false) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}{}), }}",
                                   descr, is_fortran ? "True" : "False", fmt::join(shape, ", "),
                                   shape.size() == 1 ? "," : "");
  header.resize((10 + header.size() + 64) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string file = "\x93NUMPY";
  file +=
      {'\1', '\0', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  file += header;
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto number = static_cast<T>(first + i);
    file.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  return file;
}

}  // namespace paceline::test
