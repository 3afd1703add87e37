#pragma once

#include "paceline/data/codec/gray_image.h"
#include "paceline/data/image/pixels.h"

#include <cstdint>
#include <span>

namespace paceline::data {

/// The size of a PNG file, from its header. Throws DataError.
ImageSize read_png_size(std::span<const std::uint8_t> bytes);

/// Decodes a whole PNG file into `buffer` as Pillow's convert("RGB") does: alpha and transparency
/// are dropped, gamma is ignored, 16-bit colours keep their high byte and 16-bit greys above 255
/// are white. Throws DataError if the file is damaged or ends early.
PixelView decode_png(std::span<const std::uint8_t> bytes, PixelBuffer& buffer);

/// Decodes a whole PNG file of greys with all its bits; fewer than 16 are spread over the range, so
/// that white is 65535. Colours whose channels are equal are greys, too. Throws DataError if they
/// are not, if the picture has transparency, or if the file is damaged or ends early.
GrayImage decode_gray_png(std::span<const std::uint8_t> bytes);

}  // namespace paceline::data
