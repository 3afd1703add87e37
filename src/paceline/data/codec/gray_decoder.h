#pragma once

#include "paceline/data/codec/gray_image.h"

#include <cstdint>
#include <span>

namespace paceline::data {

/// Decodes a whole PNG, JPEG or TIFF file of greys, told by its first bytes, with all its bits; see
/// decode_gray_png() and decode_gray_tiff(). EXIF's orientation is not applied. Throws DataError
/// for other files, damaged ones and pictures in colours.
GrayImage decode_gray(std::span<const std::uint8_t> bytes);

}  // namespace paceline::data
