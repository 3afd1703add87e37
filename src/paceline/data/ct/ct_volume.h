#pragma once

#include "paceline/volume/affine.h"

#include <array>
#include <cstdint>
#include <vector>

namespace paceline::data {

/// A scan as it was stored, its slope and intercept applied.
struct CtVolume {
  std::array<std::int64_t, 3> sizes{};  ///< voxels along i, j and k
  volume::Affine affine{};
  std::vector<float> values = {};  ///< Hounsfield units, all finite; i runs fastest, then j
};

/// What one file may hold: 16 GiB of values.
inline constexpr std::int64_t kMostCtVoxels = std::int64_t{1} << 32;

}  // namespace paceline::data
