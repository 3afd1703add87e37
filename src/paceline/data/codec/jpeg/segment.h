#pragma once

#include "paceline/data/image/pixels.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace paceline::data::jpeg {

/// Compressed data up to a marker, without the zeros that a file puts behind each 0xFF in them.
class Segment {
 public:
  /// Zeros behind the data, so that damaged data cannot make a decoder read beyond what is here.
  static constexpr std::size_t kPadding = 2048;

  /// Reads `file` from `begin` to the next marker, or to `end`.
  void load(std::span<const std::uint8_t> file, std::size_t begin, std::size_t end);

  const std::uint8_t* data() const { return bytes_; }
  std::size_t size() const { return size_; }
  /// Where in the file the data end: at a marker unless that was given.
  std::size_t end_in_file() const { return end_in_file_; }
  /// Where in the file a byte of data() lies.
  std::size_t place_in_file(std::size_t index) const;

 private:
  PixelBuffer buffer_;
  std::uint8_t* bytes_ = nullptr;
  std::size_t size_ = 0;
  std::size_t begin_in_file_ = 0;
  std::size_t end_in_file_ = 0;
  std::vector<std::size_t> stuffed_;  ///< the bytes behind which a zero was left out
};

}  // namespace paceline::data::jpeg
