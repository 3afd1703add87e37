#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <zlib.h>

namespace paceline::test {

/// A NIfTI file, sound unless a test changes a field. Offsets are those of nifti1.h and nifti2.h.
struct NiftiBytes {
  int version = 1;
  std::vector<std::int64_t> dim{3, 2, 3, 4};  ///< as in the header: the number of axes comes first
  int datatype = 4;                           ///< int16
  std::array<double, 8> pixdim{1, 2, 2, 2};
  double offset = -1;  ///< of the values; negative: right behind the header
  double slope = 1;
  double intercept = 0;
  int qform_code = 0;
  int sform_code = 1;
  std::array<double, 3> quaternion{};
  std::array<double, 3> shift{};
  std::array<double, 12> sform{2, 0, 0, -10, 0, 2, 0, -20, 0, 0, 2, -30};
  int units = 2;           ///< millimetres
  std::string magic = {};  ///< empty: that of a single file
  std::string values = {};

  /// Values of int16.
  NiftiBytes& set(const std::vector<std::int16_t>& numbers) {
    return set_bytes(numbers.data(), numbers.size() * sizeof(std::int16_t));
  }
  NiftiBytes& set(const std::vector<float>& numbers) {
    datatype = 16;
    return set_bytes(numbers.data(), numbers.size() * sizeof(float));
  }

  std::string bytes() const {
    const bool is_first = version == 1;
    const std::size_t header_bytes = is_first ? 348 : 540;
    std::string file(header_bytes + 4, '\0');
    put<std::int32_t>(file, 0, static_cast<double>(header_bytes));
    const std::string name = magic.empty() ? (is_first ? "n+1" : "n+2") : magic;
    file.replace(is_first ? 344 : 4, name.size(), name);
    const double start = offset < 0 ? static_cast<double>(file.size()) : offset;
    if (is_first) {
      put_first(file, start);
    } else {
      put_second(file, start);
    }
    return file + values;
  }

 private:
  NiftiBytes& set_bytes(const void* data, std::size_t size) {
    values.assign(static_cast<const char*>(data), size);
    return *this;
  }

  template <class T>
  static void put(std::string& file, std::size_t place, double number) {
    const T value = static_cast<T>(number);
    std::memcpy(file.data() + place, &value, sizeof(T));
  }
  template <class T>
  static void put_all(std::string& file, std::size_t place, std::span<const double> numbers) {
    for (const double number : numbers) {
      put<T>(file, place, number);
      place += sizeof(T);
    }
  }

  void put_first(std::string& file, double start) const {
    for (std::size_t i = 0; i < dim.size(); ++i)
      put<std::int16_t>(file, 40 + 2 * i, static_cast<double>(dim[i]));
    put<std::int16_t>(file, 70, datatype);
    put_all<float>(file, 76, pixdim);
    put_all<float>(file, 108, std::array{start, slope, intercept});
    put<char>(file, 123, units);
    put<std::int16_t>(file, 252, qform_code);
    put<std::int16_t>(file, 254, sform_code);
    put_all<float>(file, 256, quaternion);
    put_all<float>(file, 268, shift);
    put_all<float>(file, 280, sform);
  }

  void put_second(std::string& file, double start) const {
    put<std::int16_t>(file, 12, datatype);
    for (std::size_t i = 0; i < dim.size(); ++i) std::memcpy(&file[16 + 8 * i], &dim[i], 8);
    put_all<double>(file, 104, pixdim);
    put<std::int64_t>(file, 168, start);
    put_all<double>(file, 176, std::array{slope, intercept});
    put<std::int32_t>(file, 344, qform_code);
    put<std::int32_t>(file, 348, sform_code);
    put_all<double>(file, 352, quaternion);
    put_all<double>(file, 376, shift);
    put_all<double>(file, 400, sform);
    put<std::int32_t>(file, 500, units);
  }
};

/// As the program gzip makes it.
inline std::string gzip_bytes(const std::string& bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib cannot start");
  std::string packed(deflateBound(&stream, bytes.size()) + 64, '\0');
  std::string input = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int status = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("zlib cannot finish");
  return packed;
}

}  // namespace paceline::test
