#pragma once

#include "paceline/data/image/pixels.h"

#include <cstdint>
#include <span>

namespace paceline::data {

/// Reads the header of a WebP file. Throws DataError if it is damaged, or an animation.
ImageSize read_webp_size(std::span<const std::uint8_t> bytes);

/// Decodes a WebP file by libwebp, with Pillow's pixels; alpha is dropped. The view points into
/// `buffer`. Throws DataError if the file is damaged or ends early.
PixelView decode_webp(std::span<const std::uint8_t> bytes, PixelBuffer& buffer);

}  // namespace paceline::data
