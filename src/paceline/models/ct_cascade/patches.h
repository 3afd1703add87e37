#pragma once

#include "paceline/tensor/aten.h"

#include <cstdint>

namespace paceline::models {

/// Volumes [N, channels, side, side, side] to a row for each cube of patch^3 voxels, [N * (side /
/// patch)^3, channels * patch^3]: what a convolution with such a kernel and stride sees.
inline at::Tensor patches_of_volumes(const at::Tensor& volumes, std::int64_t patch) {
  const std::int64_t channels = volumes.size(1);
  const std::int64_t cubes = volumes.size(2) / patch;
  return volumes.reshape({-1, channels, cubes, patch, cubes, patch, cubes, patch})
      .permute({0, 2, 4, 6, 1, 3, 5, 7})
      .reshape({-1, channels * patch * patch * patch});
}

/// The way back, for one channel: [N, side, side, side].
inline at::Tensor volumes_of_patches(const at::Tensor& rows, std::int64_t side,
                                     std::int64_t patch) {
  const std::int64_t cubes = side / patch;
  return rows.view({-1, cubes, cubes, cubes, patch, patch, patch})
      .permute({0, 1, 4, 2, 5, 3, 6})
      .reshape({-1, side, side, side});
}

}  // namespace paceline::models
