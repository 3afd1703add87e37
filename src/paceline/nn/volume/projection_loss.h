#pragma once

#include "paceline/nn/volume/projection.h"
#include "paceline/tensor/aten.h"
#include "paceline/volume/projector.h"

#include <array>
#include <cstdint>

namespace paceline::nn {

/// What values of volumes and X-rays, both in [-1, 1], stand for.
struct VolumeUnits {
  std::array<double, 2> hu_window = {-1000, 3000};  ///< of -1 and 1
  double full_scale = 3;  ///< the integral that an X-ray of 1 tells; that of -1 is 0

  double hu_per_unit() const { return (hu_window[1] - hu_window[0]) / 2; }
  /// Of volumes in any units around them.
  at::Tensor to_hu(const at::Tensor& volumes) const {
    return (volumes + 1) * hu_per_unit() + hu_window[0];
  }
};

/// How well volumes agree with X-rays: projects them as the data were projected and compares
/// integrals along rays, view by view, on a grid that is no finer than the volume's. Immutable.
class ProjectionLoss {
 public:
  /// Of cubes of `side` voxels and X-rays of `xray_size` pixels a side.
  ProjectionLoss(const volume::ProjectionGeometry& geometry, const VolumeUnits& units,
                 std::int64_t side, std::int64_t xray_size,
                 volume::RayMethod method = volume::RayMethod::kTrilinear);

  /// Integrals that X-rays [N, views, H, W] tell, [N, views, rows, columns] of the grid.
  at::Tensor integrals_of_xrays(const at::Tensor& xrays) const;
  /// The same of volumes [N, side, side, side]. Differentiable.
  at::Tensor integrals_of_volumes(const at::Tensor& volumes) const;

  /// The mean squared difference of the integrals of each sample, [N]. Differentiable.
  at::Tensor forward(const at::Tensor& volumes, const at::Tensor& xrays) const;
  /// Each sample's |difference| / |X-rays'|, norms over all views, [N].
  at::Tensor relative_error(const at::Tensor& volumes, const at::Tensor& xrays) const;

 private:
  VolumeUnits units_;
  std::int64_t grid_;
  Projection projection_;
};

}  // namespace paceline::nn
