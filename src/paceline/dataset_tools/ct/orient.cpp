#include "paceline/dataset_tools/ct/orient.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

namespace paceline::dataset_tools {
namespace {

constexpr std::size_t kSpaceAxes = 3;
constexpr double kMostDegreesAskew = 0.5;

/// From which axis each axis of the result comes.
struct AxisOrder {
  std::array<std::size_t, kSpaceAxes> source{};
  std::array<bool, kSpaceAxes> is_mirrored{};
};

double largest_part(const volume::Affine& affine, const std::array<double, kSpaceAxes>& spacing,
                    std::size_t axis) {
  double largest = 0;
  for (const auto& row : affine) largest = std::max(largest, std::abs(row[axis]) / spacing[axis]);
  return largest;
}

AxisOrder nearest_axes(const volume::Affine& affine) {
  const std::array spacing = spacing_of(affine);
  std::array<std::size_t, kSpaceAxes> by_strength{0, 1, 2};
  std::ranges::stable_sort(by_strength, [&](std::size_t a, std::size_t b) {
    return largest_part(affine, spacing, a) > largest_part(affine, spacing, b);
  });
  AxisOrder order;
  std::array<bool, kSpaceAxes> is_taken{};
  for (const std::size_t axis : by_strength) {
    std::size_t nearest = kSpaceAxes;
    for (std::size_t row = 0; row < kSpaceAxes; ++row) {
      if (is_taken[row]) continue;
      if (nearest == kSpaceAxes || std::abs(affine[row][axis]) > std::abs(affine[nearest][axis]))
        nearest = row;
    }
    is_taken[nearest] = true;
    order.source[nearest] = axis;
    order.is_mirrored[nearest] = affine[nearest][axis] < 0;
  }
  return order;
}

volume::Affine moved_affine(const data::CtVolume& volume, const AxisOrder& order) {
  volume::Affine moved;
  for (std::size_t row = 0; row < kSpaceAxes; ++row) {
    moved[row][kSpaceAxes] = volume.affine[row][kSpaceAxes];
    for (std::size_t axis = 0; axis < kSpaceAxes; ++axis) {
      const double step = volume.affine[row][order.source[axis]];
      moved[row][axis] = order.is_mirrored[axis] ? 0 - step : step;  // no -0
      if (order.is_mirrored[axis])
        moved[row][kSpaceAxes] += step * static_cast<double>(volume.sizes[order.source[axis]] - 1);
    }
  }
  return moved;
}

}  // namespace

std::array<double, kSpaceAxes> spacing_of(const volume::Affine& affine) {
  std::array<double, kSpaceAxes> spacing{};
  for (std::size_t axis = 0; axis < kSpaceAxes; ++axis)
    spacing[axis] = std::hypot(affine[0][axis], affine[1][axis], affine[2][axis]);
  return spacing;
}

void require_right_angles(const volume::Affine& affine, const std::string& name) {
  const std::array spacing = spacing_of(affine);
  for (std::size_t axis = 0; axis < kSpaceAxes; ++axis) {
    const std::size_t next = (axis + 1) % kSpaceAxes;
    double product = 0;
    for (const auto& row : affine) product += row[axis] * row[next];
    const double sine = std::clamp(product / (spacing[axis] * spacing[next]), -1.0, 1.0);
    const double degrees = std::abs(std::asin(sine)) * 180 / std::numbers::pi;
    if (degrees <= kMostDegreesAskew) continue;
    throw base::DataError(fmt::format(
        "{}: axes {} and {} are {:.1f} degrees from a right angle, as with a tilted gantry; "
        "resample it to a grid with right angles",
        name, "ijk"[axis], "ijk"[next], degrees));
  }
}

data::CtVolume orient_to_ras(data::CtVolume volume) {
  const AxisOrder order = nearest_axes(volume.affine);
  data::CtVolume oriented{.affine = moved_affine(volume, order)};
  const std::array<std::int64_t, kSpaceAxes> strides{1, volume.sizes[0],
                                                     volume.sizes[0] * volume.sizes[1]};
  std::int64_t first = 0;
  std::array<std::int64_t, kSpaceAxes> steps{};
  for (std::size_t axis = 0; axis < kSpaceAxes; ++axis) {
    const std::size_t source = order.source[axis];
    oriented.sizes[axis] = volume.sizes[source];
    steps[axis] = order.is_mirrored[axis] ? -strides[source] : strides[source];
    if (order.is_mirrored[axis]) first += (volume.sizes[source] - 1) * strides[source];
  }
  if (steps == strides) {
    oriented.values = std::move(volume.values);
    return oriented;
  }
  oriented.values.resize(volume.values.size());
  float* out = oriented.values.data();
  for (std::int64_t k = 0; k < oriented.sizes[2]; ++k) {
    for (std::int64_t j = 0; j < oriented.sizes[1]; ++j) {
      const float* in = volume.values.data() + first + k * steps[2] + j * steps[1];
      for (std::int64_t i = 0; i < oriented.sizes[0]; ++i) *out++ = in[i * steps[0]];
    }
  }
  return oriented;
}

}  // namespace paceline::dataset_tools
