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
  PixelView view() const { return {pixels, size, stride}; }
};

}  // namespace paceline::data
