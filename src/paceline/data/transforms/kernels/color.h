#pragma once

#include "paceline/data/image/pixels.h"

#include <cstddef>
#include <cstdint>

namespace paceline::data {

// Pillow's operations that look at a pixel's three channels at once, as torchvision's adjust_* use
// them. They write an image of the same size to `target`, whose rows lie `stride` bytes apart; up
// to PixelBuffer::kPadding bytes beyond the last pixel of both are read and written.

/// Blends each pixel with its own luma: luma + factor * (byte - luma) in float32, clamped and cut
/// off to a whole number.
void adjust_saturation(const PixelView& source, float factor, std::uint8_t* target,
                       std::ptrdiff_t stride);
/// Turns the hue by `turn` of the circle in Pillow's 8-bit HSV, which also rounds the other pixels'
/// colours.
void adjust_hue(const PixelView& source, double turn, std::uint8_t* target, std::ptrdiff_t stride);

/// The turn in 1/256 of the circle, from 0 to 255: cut off towards zero, then modulo 256, as
/// numpy's cast does.
inline int hue_shift(double turn) { return static_cast<int>(turn * 255) & 255; }

/// The same in plain C++: what the vector code is tested against.
void adjust_saturation_scalar(const PixelView& source, float factor, std::uint8_t* target,
                              std::ptrdiff_t stride);
void adjust_hue_scalar(const PixelView& source, double turn, std::uint8_t* target,
                       std::ptrdiff_t stride);

}  // namespace paceline::data
