#pragma once

#include "paceline/data/codec/pixels.h"

#include <cstddef>
#include <cstdint>

namespace paceline::data {

/// 8-bit RGB pixels to be changed in place.
struct MutablePixels {
  std::uint8_t* pixels = nullptr;
  ImageSize size;
  std::ptrdiff_t stride = 0;

  std::uint8_t* row(int y) const { return pixels + y * stride; }
};

// Pillow's ImageEnhance, as torchvision's adjust_* use it: each pixel is blended with a degenerate
// image in float32, degenerate + factor * (pixel - degenerate), clamped and cut off to a whole
// number.

/// Blends with black.
void adjust_brightness(const MutablePixels& image, float factor);
/// Blends with the mean of the whole image's luma, rounded.
void adjust_contrast(const MutablePixels& image, float factor);
/// Blends each pixel with its own luma.
void adjust_saturation(const MutablePixels& image, float factor);
/// Turns the hue by `turn` of the circle in Pillow's 8-bit HSV, which also rounds the other pixels'
/// colours.
void adjust_hue(const MutablePixels& image, double turn);

}  // namespace paceline::data
