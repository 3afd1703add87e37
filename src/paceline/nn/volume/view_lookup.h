#pragma once

#include "paceline/tensor/aten.h"
#include "paceline/volume/view_frame.h"

#include <cstdint>

namespace paceline::nn {

/// Brings what one view shows to the voxels of a cube, along the view's own rays. Immutable and
/// without parameters. Differentiable; float32 or float64, whatever autocast says: half precision
/// is computed in float32. Of parallel beams at right angles by products with matrices, whose
/// gradients are the same bits each time on every device; else by LibTorch's grid_sampler.
class ViewLookup {
 public:
  /// For cubes of `side` voxels. Throws ConfigError as volume::ViewRays does.
  ViewLookup(const volume::ProjectionGeometry& geometry, double angle_degrees, std::int64_t side);

  /// Images [N, H, W] to the pixel that each voxel's ray meets, [N, side, side, side], interpolated
  /// between the middles of pixels; beyond the outermost ones these count. Images with at least
  /// twice as many pixels a side as there are voxels are first made smaller by means of squares,
  /// so that none of them is left out.
  at::Tensor pixels(const at::Tensor& images) const;

  /// Layers of values [N, side, h, w], which cut the cube across the view's direction, the nearest
  /// to the source first, to those at the voxels, [N, side, side, side].
  at::Tensor voxels(const at::Tensor& layers) const;

  /// Where each voxel is seen, as volume::seen_at(): [side, side, side, 3], of dtype and device of
  /// `options`.
  at::Tensor places(const at::TensorOptions& options) const;

 private:
  at::Tensor middles(const at::TensorOptions& options) const;
  at::Tensor resized(const at::Tensor& images) const;

  volume::ViewFrame frame_;
  std::int64_t side_;
};

}  // namespace paceline::nn
