#pragma once

#include "paceline/data/ct/ct_volume.h"

#include <cstdint>
#include <span>
#include <vector>

namespace paceline::dataset_tools {

inline constexpr float kAirHu = -1000;
/// What scanners store at least; what lies lower is padding of theirs, and air.
inline constexpr std::int16_t kLowestHu = -1024;

/// A scan in a cube of equal voxels.
struct CtCube {
  std::int64_t side = 0;
  volume::Affine affine{};         ///< of voxel (x, y, z)
  std::vector<float> values = {};  ///< [side, side, side]: z, y and, fastest, x, in HU
};

/// A cube of `fov_mm` around the middle of a volume, of `side` voxels along each of its axes, which
/// keep their directions. Axis by axis by triangle_taps(); voxels whose middle lies outside are
/// air.
CtCube resample_to_cube(const data::CtVolume& volume, double fov_mm, std::int64_t side);

/// The cube of half the side, which must be even: means of 2 x 2 x 2 voxels.
CtCube halve(const CtCube& cube);

/// Rounded (halves away from zero) and clamped to [kLowestHu, 32767].
std::vector<std::int16_t> to_hounsfield(std::span<const float> values);

}  // namespace paceline::dataset_tools
