#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace paceline::data {

/// The bytes of a pickle, taken one after another. Everything throws DataError past the end.
class PickleStream {
 public:
  PickleStream(std::span<const std::uint8_t> bytes, std::string name)
      : bytes_(bytes), name_(std::move(name)) {}

  /// Throws DataError with the file's name and the place in it.
  [[noreturn]] void fail(const std::string& what) const;

  std::size_t num_bytes() const { return bytes_.size(); }  ///< of all of it

  /// A little-endian number.
  template <class T>
  T take() {
    T value;
    std::memcpy(&value, take_bytes(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view take_bytes(std::uint64_t count);
  /// Up to the next line feed, which is taken too.
  std::string_view take_line();
  /// A signed little-endian number of `count` bytes.
  std::int64_t take_long(std::uint64_t count);
  /// A big-endian float64.
  double take_real();

 private:
  std::span<const std::uint8_t> bytes_;
  std::string name_;
  std::size_t at_ = 0;
};

}  // namespace paceline::data
