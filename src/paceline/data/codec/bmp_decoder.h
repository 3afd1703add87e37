#pragma once

#include "paceline/data/image/pixels.h"

#include <cstdint>
#include <span>

namespace paceline::data {

/// Reads the header of a BMP file. Throws DataError if it is damaged.
ImageSize read_bmp_size(std::span<const std::uint8_t> bytes);

/// Decodes a BMP file with Pillow's pixels: 1, 4 and 8 bits with a palette, 16, 24 and 32 bits,
/// not compressed; alpha is dropped (docs/decisions/0013). The view points into `buffer`. Throws
/// DataError if the file is damaged, ends early or is of another kind.
PixelView decode_bmp(std::span<const std::uint8_t> bytes, PixelBuffer& buffer);

}  // namespace paceline::data
