#pragma once

#include "paceline/data/codec/gray_image.h"
#include "paceline/data/image/pixels.h"

#include <cstdint>
#include <span>

namespace paceline::data {

/// Reads the header of a TIFF file's first picture. Throws DataError if it is damaged.
ImageSize read_tiff_size(std::span<const std::uint8_t> bytes);

/// Decodes a TIFF file's first picture by libtiff, with Pillow's pixels: 8 bits a value, grey,
/// palette or RGB, however compressed; alpha that is not multiplied in is dropped. The view points
/// into `buffer`. Throws DataError if the file is damaged, ends early or is of another kind.
PixelView decode_tiff(std::span<const std::uint8_t> bytes, PixelBuffer& buffer);

/// Decodes the first picture, of greys, with all its bits; 8 are spread over 16. Throws DataError
/// for colours, transparency and pictures that are to be turned, and as decode_tiff().
GrayImage decode_gray_tiff(std::span<const std::uint8_t> bytes);

}  // namespace paceline::data
