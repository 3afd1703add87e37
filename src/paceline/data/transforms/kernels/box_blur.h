#pragma once

#include "paceline/data/image/pixels.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace paceline::data {

/// The box of Pillow's BoxBlur: whole pixels on both sides of the middle, and a part of one beyond.
struct BoxWeights {
  int radius = 0;              ///< whole pixels
  std::uint32_t whole = 0;     ///< weight of each, in 1 / 2^24
  std::uint32_t fraction = 0;  ///< weight of the one beyond
};

/// Pillow's ImageFilter.GaussianBlur: three times a box along the rows, then along the columns,
/// with bytes in between; beyond its edges an image goes on as at them. Keeps its buffers from
/// image to image.
class BoxBlur {
 public:
  /// `radius`: the deviation in pixels, above 0. Rows of `target` lie `stride` bytes apart; up to
  /// PixelBuffer::kPadding bytes beyond the last pixel of both are read and written, and those
  /// between rows.
  void blur(const PixelView& source, float radius, std::uint8_t* target, std::ptrdiff_t stride);

  /// Lets go of the memory that a giant took.
  void give_back();

 private:
  void blur_row(const std::uint8_t* row, int width, std::uint8_t* target);
  void blur_columns(const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride);

  BoxWeights weights_;
  std::vector<const std::uint8_t*> places_;
  PixelBuffer row_;      ///< with its ends
  PixelBuffer between_;  ///< the image after the passes along the rows
};

/// Pillow's box for a deviation that three passes have.
BoxWeights box_weights(float radius);

/// The weighted sums of bytes: fraction for the first and the last of `places`, whole for the
/// others; `count` bytes from each place on. Up to 16 bytes beyond are read and written.
void box_means(std::span<const std::uint8_t* const> places, const BoxWeights& weights,
               std::size_t count, std::uint8_t* target);
/// The same in plain C++: what the vector code is tested against.
void box_means_scalar(std::span<const std::uint8_t* const> places, const BoxWeights& weights,
                      std::size_t count, std::uint8_t* target);

}  // namespace paceline::data
