#pragma once

#include <array>

namespace paceline::volume {

/// Where voxels lie: the place in millimetres (RAS+) of the middle of voxel (i, j, k) is row · (i,
/// j, k, 1), row by row, as NIfTI and nibabel have it; i counts along the fastest axis of the
/// values.
using Affine = std::array<std::array<double, 4>, 3>;

}  // namespace paceline::volume
