#include "paceline/dataset_tools/ct/cube.h"

#include "paceline/base/error.h"
#include "paceline/dataset_tools/ct/orient.h"
#include "paceline/dataset_tools/ct/triangle_filter.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace paceline::dataset_tools {
namespace {

constexpr std::size_t kCubeAxes = 3;

/// Of a cube of other voxels in the same place: its middle stays, and its directions.
volume::Affine affine_of_cube(const data::CtVolume& volume, double voxel_mm, std::int64_t side) {
  const std::array spacing = spacing_of(volume.affine);
  volume::Affine affine;
  for (std::size_t row = 0; row < kCubeAxes; ++row) {
    double place = volume.affine[row][kCubeAxes];
    for (std::size_t axis = 0; axis < kCubeAxes; ++axis) {
      const double old_step = volume.affine[row][axis];
      affine[row][axis] = old_step / spacing[axis] * voxel_mm;
      place += old_step * static_cast<double>(volume.sizes[axis] - 1) / 2 -
               affine[row][axis] * static_cast<double>(side - 1) / 2;
    }
    affine[row][kCubeAxes] = place;
  }
  return affine;
}

}  // namespace

CtCube resample_to_cube(const data::CtVolume& volume, double fov_mm, std::int64_t side) {
  const double voxel_mm = fov_mm / static_cast<double>(side);
  const std::array spacing = spacing_of(volume.affine);
  CtCube cube{.side = side, .affine = affine_of_cube(volume, voxel_mm, side)};
  std::size_t inner = 1;
  for (std::size_t axis = 0; axis < kCubeAxes; ++axis) {
    const auto taps = triangle_taps(volume.sizes[axis], side, voxel_mm / spacing[axis]);
    const std::span<const float> values = axis == 0 ? volume.values : cube.values;
    cube.values =
        resample_axis(values, static_cast<std::size_t>(volume.sizes[axis]), inner, taps, kAirHu);
    inner *= static_cast<std::size_t>(side);
  }
  return cube;
}

CtCube halve(const CtCube& cube) {
  PACELINE_CHECK(cube.side % 2 == 0, "a cube of side {} has no half", cube.side);
  CtCube half{.side = cube.side / 2, .affine = cube.affine};
  for (auto& row : half.affine) {
    for (std::size_t axis = 0; axis < kCubeAxes; ++axis) {
      row[kCubeAxes] += row[axis] / 2;
      row[axis] *= 2;
    }
  }
  const auto side = static_cast<std::size_t>(cube.side);
  half.values.reserve(cube.values.size() / 8);
  for (std::size_t z = 0; z < side; z += 2) {
    for (std::size_t y = 0; y < side; y += 2) {
      const float* const row = cube.values.data() + (z * side + y) * side;
      for (std::size_t x = 0; x < side; x += 2) {
        float sum = 0;
        for (const std::size_t corner : {x, x + side, x + side * side, x + side * side + side})
          sum += row[corner] + row[corner + 1];
        half.values.push_back(sum / 8);
      }
    }
  }
  return half;
}

std::vector<std::int16_t> to_hounsfield(std::span<const float> values) {
  std::vector<std::int16_t> rounded(values.size());
  std::ranges::transform(values, rounded.begin(), [](float value) {
    constexpr float kHighest = std::numeric_limits<std::int16_t>::max();
    const float clamped = std::clamp(value, static_cast<float>(kLowestHu), kHighest);
    return static_cast<std::int16_t>(std::lround(clamped));
  });
  return rounded;
}

}  // namespace paceline::dataset_tools
