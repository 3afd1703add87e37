#pragma once

#include "paceline/tensor/aten.h"
#include "paceline/volume/projector.h"

#include <cstdint>
#include <memory>

namespace paceline::nn {

/// X-ray images of cubes, by the geometry that the data's own images are made with. Immutable.
class Projection {
 public:
  /// Throws ConfigError as volume::ViewRays does.
  Projection(const volume::ProjectionGeometry& geometry, int cube_side,
             const volume::DetectorGrid& detector,
             volume::RayMethod method = volume::RayMethod::kTrilinear);

  /// Attenuations relative to water [N, side, side, side] to volume::project()'s integrals [N,
  /// views, rows, columns], float32 or float64, whatever autocast says. Differentiable: the
  /// gradient is the transpose, the same bits whatever the number of threads. Parallel beams along
  /// the cube's axes with a pixel for each line of voxels are sums of these, equal but for
  /// rounding; else, on a GPU and of trilinear rays alone, by_operations(). Throws InternalError
  /// for other sizes.
  at::Tensor forward(const at::Tensor& attenuations) const;

  /// The same by LibTorch's grid_sampler, which interpolates float32 places: what tests compare
  /// with. Of trilinear rays alone.
  at::Tensor by_operations(const at::Tensor& attenuations) const;

  std::int64_t num_views() const;

 private:
  struct Plan;

  std::shared_ptr<const Plan> plan_;
};

/// Attenuation relative to water of Hounsfield units: volume::attenuation_of_hu() of each.
at::Tensor attenuations_of_hu(const at::Tensor& hu);

}  // namespace paceline::nn
