#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace paceline::data {

/// Where the voxels of a volume lie: row r times (i, j, k, 1) is millimetres to the patient's
/// right (r = 0), front (1) and head (2), as NIfTI and nibabel have it.
using VolumeAffine = std::array<std::array<double, 4>, 3>;

/// A scan as it was stored, its slope and intercept applied.
struct CtVolume {
  std::array<std::int64_t, 3> sizes{};  ///< voxels along i, j and k
  VolumeAffine affine{};
  std::vector<float> values = {};  ///< Hounsfield units, all finite; i runs fastest, then j
};

/// What one file may hold: 16 GiB of values.
inline constexpr std::int64_t kMostCtVoxels = std::int64_t{1} << 32;

}  // namespace paceline::data
