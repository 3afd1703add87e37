#pragma once

#include "paceline/data/image/pixels.h"

#include <cstdint>
#include <span>

namespace paceline::data {

/// Reads the header of a PGM or PPM file. Throws DataError if it is damaged.
ImageSize read_pnm_size(std::span<const std::uint8_t> bytes);

/// Decodes PGM and PPM files, binary (P5, P6) or text (P2, P3), of up to 8 bits a value, with
/// Pillow's pixels (docs/decisions/0013). The view points into `buffer`. Throws DataError if the
/// file is damaged, ends early or has larger values.
PixelView decode_pnm(std::span<const std::uint8_t> bytes, PixelBuffer& buffer);

}  // namespace paceline::data
