#pragma once

#include "paceline/base/error.h"
#include "paceline/data/image/pixels.h"

#include <cstdint>

namespace paceline::data {

/// Larger images are taken for damaged or hostile files, as in Pillow and libpng.
inline constexpr std::int64_t kMaxPixels = 178'956'970;
inline constexpr std::uint32_t kMaxSide = 1'000'000;

inline ImageSize checked_size(std::uint32_t height, std::uint32_t width) {
  if (height == 0 || width == 0 || height > kMaxSide || width > kMaxSide ||
      std::int64_t{height} * width > kMaxPixels) {
    throw base::DataError(
        fmt::format("image of {} x {} pixels: 1 to {} pixels, {} on a side, can be decoded", width,
                    height, kMaxPixels, kMaxSide));
  }
  return {static_cast<int>(height), static_cast<int>(width)};
}

}  // namespace paceline::data
