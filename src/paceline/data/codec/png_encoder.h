#pragma once

#include "paceline/data/codec/gray_image.h"

#include <string>

namespace paceline::data {

/// The image as a PNG file of 16 bits a pixel. `description`, in Latin-1, is what programs show of
/// it; empty: none. Throws InternalError if it has not as many values as its size says.
std::string encode_gray_png(const GrayImage& image, const std::string& description = {});

}  // namespace paceline::data
