#include "paceline/nn/volume/view_lookup.h"

#include "paceline/base/error.h"
#include "paceline/nn/volume/deterministic_sampling.h"
#include "paceline/tensor/autocast.h"

#include <algorithm>
#include <array>

namespace paceline::nn {
namespace {

constexpr std::int64_t kBilinear = 0;        // of grid_sampler
constexpr std::int64_t kNearestOutside = 1;  // "border"

at::Tensor at_least_float(const at::Tensor& values) {
  return values.scalar_type() == at::kDouble ? values : values.to(at::kFloat);
}

/// What interpolates `length` values at places from -1 to 1, the outer edges of the first and the
/// last: [places, length].
at::Tensor interpolation(const at::Tensor& places, std::int64_t length) {
  const at::Tensor wanted =
      ((places + 1) * (static_cast<double>(length) / 2) - 0.5).clamp(0, length - 1);
  const at::Tensor values = at::arange(length, places.options());
  return (1 - (wanted.unsqueeze(1) - values).abs()).clamp_min(0);
}

/// Pixels a side of the squares that are averaged.
std::int64_t square_of(std::int64_t pixels, std::int64_t voxels) {
  std::int64_t square = std::max<std::int64_t>(1, pixels / voxels);
  while (pixels % square != 0) --square;
  return square;
}

tensor::AutocastGuard without_autocast(const at::Tensor& values) {
  return tensor::AutocastGuard({values.device().type(), false, values.scalar_type()});
}

}  // namespace

ViewLookup::ViewLookup(const volume::ProjectionGeometry& geometry, double angle_degrees,
                       std::int64_t side)
    : frame_(volume::view_frame(geometry, angle_degrees)), side_(side) {}

at::Tensor ViewLookup::middles(const at::TensorOptions& options) const {
  return (at::arange(side_, options) * 2 + 1) / side_ - 1;
}

at::Tensor ViewLookup::places(const at::TensorOptions& options) const {
  const at::Tensor middle = middles(options);
  const std::array axes{middle.view({1, 1, -1}), middle.view({1, -1, 1}), middle.view({-1, 1, 1})};
  const auto along = [&](const volume::Vector& direction) {
    return axes[0] * direction[0] + axes[1] * direction[1] + axes[2] * direction[2];
  };
  const at::Tensor depth = along(frame_.along);
  at::Tensor column = along(frame_.right);
  at::Tensor row = along(frame_.down);
  if (frame_.source) {
    const at::Tensor magnified = (depth / *frame_.source + 1).reciprocal();
    column = column * magnified;
    row = row * magnified;
  }
  return at::stack({column, row, depth / frame_.reach}, -1);
}

/// [N, C, H, W] to [N, C, z, column] of the cube, of parallel beams along an axis.
at::Tensor ViewLookup::resized(const at::Tensor& images) const {
  const at::Tensor middle = middles(images.options());
  const bool columns_are_x = frame_.right[0] != 0;
  const double sign = columns_are_x ? frame_.right[0] : frame_.right[1];
  const at::Tensor rows = interpolation(middle * frame_.down[2], images.size(2));
  const at::Tensor columns = interpolation(middle * sign, images.size(3));
  return at::matmul(rows, at::matmul(images, columns.t()));
}

at::Tensor ViewLookup::pixels(const at::Tensor& given) const {
  at::Tensor images = at_least_float(given);
  const tensor::AutocastGuard guard = without_autocast(images);
  images = images.unsqueeze(1);
  const std::array squares{square_of(images.size(2), side_), square_of(images.size(3), side_)};
  if (squares != std::array<std::int64_t, 2>{1, 1}) images = at::avg_pool2d(images, squares);
  if (frame_.is_along_axes()) {
    const std::int64_t depth_axis = frame_.along[1] != 0 ? 2 : 3;
    return resized(images).squeeze(1).unsqueeze(depth_axis).expand({-1, side_, side_, side_});
  }
  const at::Tensor grid = places(images.options()).slice(-1, 0, 2).flatten(0, 1).unsqueeze(0);
  const at::Tensor seen = at::grid_sampler_2d(images, grid.expand({images.size(0), -1, -1, -1}),
                                              kBilinear, kNearestOutside, /*align_corners=*/false);
  return seen.view({-1, side_, side_, side_});
}

at::Tensor ViewLookup::voxels(const at::Tensor& given) const {
  at::Tensor layers = at_least_float(given);
  PACELINE_CHECK(layers.dim() == 4 && layers.size(1) == side_,
                 "a cube of {} voxels a side has as many layers, got {}", side_, layers.size(1));
  const tensor::AutocastGuard guard = without_autocast(layers);
  if (frame_.is_along_axes()) {
    const bool is_along_y = frame_.along[1] != 0;
    const bool is_backwards = (is_along_y ? frame_.along[1] : frame_.along[0]) < 0;
    const at::Tensor at_voxels = resized(is_backwards ? layers.flip(1) : layers);
    return is_along_y ? at_voxels.permute({0, 2, 1, 3}) : at_voxels.permute({0, 2, 3, 1});
  }
  require_sampling_in_any_order(layers);
  const at::Tensor grid = places(layers.options()).unsqueeze(0);
  return at::grid_sampler_3d(layers.unsqueeze(1), grid.expand({layers.size(0), -1, -1, -1, -1}),
                             kBilinear, kNearestOutside, /*align_corners=*/false)
      .squeeze(1);
}

}  // namespace paceline::nn
