#pragma once

#include "paceline/data/image/pixels.h"

#include <cstdint>
#include <vector>

namespace paceline::data {

/// An image of grey values, of which 65535 is the brightest; row by row.
struct GrayImage {
  ImageSize size;
  std::vector<std::uint16_t> values = {};
};

}  // namespace paceline::data
