#include "paceline/models/vit/position_embedding.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace paceline::models {
namespace {

/// [N, C, H, W] to another size, with the kernel widened where it shrinks, so that nothing aliases.
at::Tensor resample(const at::Tensor& images, const nn::ImageSize& to) {
  return at::_upsample_bicubic2d_aa(images, {to.height, to.width}, /*align_corners=*/false);
}

/// The type that interpolation has kernels for.
at::ScalarType wide_dtype(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

std::int64_t integer_root(std::int64_t value) {
  return std::llround(std::sqrt(static_cast<double>(value)));
}

/// A square of so many patches, or a rectangle with the proportions of `like`.
std::optional<nn::ImageSize> grid_of(std::int64_t count, const nn::ImageSize& like) {
  if (count < 1) return std::nullopt;
  if (const std::int64_t side = integer_root(count); side * side == count) return {{side, side}};
  const std::int64_t divisor = std::gcd(like.height, like.width);
  const nn::ImageSize unit{like.height / divisor, like.width / divisor};
  const std::int64_t scale = integer_root(count / (unit.height * unit.width));
  const nn::ImageSize grid{scale * unit.height, scale * unit.width};
  return grid.height * grid.width == count ? std::optional(grid) : std::nullopt;
}

tensor::Adaptation resampling(const nn::ImageSize& from, const PositionShape& wanted,
                              std::int64_t stored_prefix) {
  return {[=](const at::Tensor& stored) {
            const at::Tensor positions =
                resample_positions(stored, stored_prefix, from, wanted.grid);
            if (stored_prefix == wanted.prefix) return positions;
            return at::cat({positions.new_zeros({1, wanted.prefix, wanted.dim}), positions}, 1);
          },
          fmt::format("resampled from {}x{} to {}x{} patches{}", from.height, from.width,
                      wanted.grid.height, wanted.grid.width,
                      stored_prefix == wanted.prefix ? "" : ", and zeros before them")};
}

}  // namespace

at::Tensor resample_positions(const at::Tensor& positions, std::int64_t prefix,
                              const nn::ImageSize& from, const nn::ImageSize& to) {
  if (from.height == to.height && from.width == to.width) return positions;
  const std::int64_t dim = positions.size(2);
  const at::Tensor grid = positions.slice(1, prefix)
                              .to(wide_dtype(positions))
                              .reshape({1, from.height, from.width, dim})
                              .permute({0, 3, 1, 2});
  const at::Tensor resampled = resample(grid, to)
                                   .permute({0, 2, 3, 1})
                                   .reshape({1, to.height * to.width, dim})
                                   .to(positions.scalar_type());
  return prefix == 0 ? resampled : at::cat({positions.slice(1, 0, prefix), resampled}, 1);
}

std::optional<tensor::Adaptation> adapt_positions(std::span<const std::int64_t> stored,
                                                  const PositionShape& wanted) {
  if (stored.size() != 3 || stored[0] != 1 || stored[2] != wanted.dim) return std::nullopt;
  for (const std::int64_t prefix : {wanted.prefix, std::int64_t{0}}) {
    if (stored[1] - prefix < 2) continue;  // one is no grid
    if (const auto grid = grid_of(stored[1] - prefix, wanted.grid))
      return resampling(*grid, wanted, prefix);
  }
  return std::nullopt;
}

std::optional<tensor::Adaptation> adapt_patch_weight(std::span<const std::int64_t> stored,
                                                     std::span<const std::int64_t> wanted) {
  if (stored.size() != 4 || !std::ranges::equal(stored.first(2), wanted.first(2)))
    return std::nullopt;
  const nn::ImageSize from{stored[2], stored[3]};
  const nn::ImageSize to{wanted[2], wanted[3]};
  return tensor::Adaptation{
      [=](const at::Tensor& weight) {
        const std::int64_t pixels = from.height * from.width;
        // Row i is what resizing makes of the patch whose pixel i alone is 1. The new weight w has
        // w · resize(patch) = weight · patch for every patch, as nearly as can be.
        const at::Tensor resize =
            resample(at::eye(pixels, wide_dtype(weight)).view({pixels, 1, from.height, from.width}),
                     to)
                .view({pixels, to.height * to.width});
        return at::matmul(weight.to(wide_dtype(weight)).flatten(2), at::linalg_pinv(resize.t()))
            .unflatten(2, {to.height, to.width})
            .to(weight.scalar_type());
      },
      fmt::format("resampled from {}x{} to {}x{} pixels", from.height, from.width, to.height,
                  to.width)};
}

}  // namespace paceline::models
