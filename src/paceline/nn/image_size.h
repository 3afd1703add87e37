#pragma once

#include <cstdint>

namespace paceline::nn {

/// Pixels of an image or a feature map.
struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

}  // namespace paceline::nn
