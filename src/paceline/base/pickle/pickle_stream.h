#pragma once

#include "paceline/base/pickle/pickle.h"

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace paceline::base {

/// The bytes of a pickle, taken one after another. Everything throws PickleError past the end.
class PickleStream {
 public:
  explicit PickleStream(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  /// Throws PickleError with the place in the pickle.
  [[noreturn]] void fail(const std::string& what) const;

  std::size_t num_bytes() const { return bytes_.size(); }  ///< of all of it
  std::size_t position() const { return at_; }

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
  /// A big-endian float64.
  double take_real();

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

}  // namespace paceline::base
