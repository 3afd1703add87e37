#pragma once

#include "paceline/data/image/pixels.h"

#include <cstddef>
#include <cstdint>

namespace paceline::data {

/// A weighted sum of images of one size, in float32. Keeps its buffer from sum to sum.
class Mixture {
 public:
  /// Begins a sum of nothing.
  void begin(ImageSize size);
  ImageSize size() const { return size_; }
  /// Adds share * byte, each product rounded. PixelBuffer::kPadding bytes beyond the last pixel of
  /// `image`, which has this size, must be readable.
  void add(const PixelView& image, float share);
  /// Multiplies the sums by `factor`, each product rounded.
  void scale(float factor);
  /// Pillow's Image.blend: moves `image`, which add() describes, by `share` of the way to the sums,
  /// cut off as by write().
  void blend(const PixelView& image, float share);
  /// Writes the sums, cut off to whole numbers of 0 .. 255, to rows that lie `stride` bytes apart;
  /// up to PixelBuffer::kPadding bytes beyond the last pixel are written.
  void write(std::uint8_t* target, std::ptrdiff_t stride);

  /// Lets go of the memory that a giant took.
  void give_back() { sums_.give_back(); }

 private:
  std::size_t row_floats() const;
  float* row(int y);

  ImageSize size_;
  PixelBuffer sums_;
};

/// Floats beyond a row's own that vector code may read and write.
inline constexpr std::size_t kMixtureSlack = 16;

void add_bytes(const std::uint8_t* bytes, std::size_t count, float share, float* sums);
void cut_off_bytes(const float* sums, std::size_t count, std::uint8_t* bytes);

/// The same in plain C++: what the vector code is tested against.
void add_bytes_scalar(const std::uint8_t* bytes, std::size_t count, float share, float* sums);
void cut_off_bytes_scalar(const float* sums, std::size_t count, std::uint8_t* bytes);

}  // namespace paceline::data
