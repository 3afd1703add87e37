#pragma once

#include "paceline/base/philox.h"

#include <array>
#include <vector>

namespace paceline::data {

/// Red, green and blue from 0 to 255.
using Color = std::array<double, 3>;

/// What a synthetic picture shows, before noise.
struct Scene {
  int width = 0;
  int height = 0;
  std::vector<Color> pixels;  ///< by rows
};

/// The shape and texture of a class, large and in drawn colours, before a gradient with clutter.
Scene paint_scene(int class_index, int width, int height, base::Philox& draws);

}  // namespace paceline::data
