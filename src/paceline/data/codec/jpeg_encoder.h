#pragma once

#include "paceline/data/image/pixels.h"

#include <cstdint>
#include <vector>

namespace paceline::data {

/// The image as a baseline JPEG file with half the colour resolution, `quality` from 1 to 100.
/// Throws InternalError for an image without pixels.
std::vector<std::uint8_t> encode_jpeg(const PixelView& image, int quality);

}  // namespace paceline::data
