#pragma once

#include "paceline/base/philox.h"
#include "paceline/data/dataset/dataset.h"

#include <array>
#include <string>
#include <vector>

namespace paceline::dataset_tools {

/// Red, green and blue from 0 to 255.
using Color = std::array<double, 3>;

/// What a synthetic picture shows, before noise.
struct Scene {
  int width = 0;
  int height = 0;
  std::vector<Color> pixels;  ///< by rows
};

/// "<texture>_<shape>" of a class.
std::string scene_name(int class_index);

/// The shape and texture of a class, large and in drawn colours, before a gradient with clutter.
Scene paint_scene(int class_index, int width, int height, base::Philox& draws);

Color mix(const Color& a, const Color& b, double share_of_b);

/// Adds white noise of the given strength and rounds to bytes.
data::Image with_noise(const Scene& scene, base::Philox& draws, double strength);

}  // namespace paceline::dataset_tools
