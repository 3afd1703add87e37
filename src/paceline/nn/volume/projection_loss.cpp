#include "paceline/nn/volume/projection_loss.h"

#include <algorithm>

namespace paceline::nn {

ProjectionLoss::ProjectionLoss(const volume::ProjectionGeometry& geometry, const VolumeUnits& units,
                               std::int64_t side, std::int64_t xray_size, volume::RayMethod method)
    : units_(units),
      grid_(std::min(side, xray_size)),
      projection_(geometry, static_cast<int>(side),
                  {.rows = static_cast<int>(grid_), .columns = static_cast<int>(grid_)}, method) {}

at::Tensor ProjectionLoss::integrals_of_xrays(const at::Tensor& xrays) const {
  return at::adaptive_avg_pool2d((xrays + 1) * (units_.full_scale / 2), {grid_, grid_});
}

at::Tensor ProjectionLoss::integrals_of_volumes(const at::Tensor& volumes) const {
  return projection_.forward(attenuations_of_hu(units_.to_hu(volumes)));
}

at::Tensor ProjectionLoss::forward(const at::Tensor& volumes, const at::Tensor& xrays) const {
  const at::Tensor wanted = integrals_of_xrays(xrays).to(volumes.scalar_type());
  return (integrals_of_volumes(volumes) - wanted).square().flatten(1).mean(1);
}

at::Tensor ProjectionLoss::relative_error(const at::Tensor& volumes,
                                          const at::Tensor& xrays) const {
  const at::Tensor wanted = integrals_of_xrays(xrays).to(volumes.scalar_type()).flatten(1);
  const at::Tensor made = integrals_of_volumes(volumes).flatten(1);
  return (made - wanted).norm(2, 1) / wanted.norm(2, 1);
}

}  // namespace paceline::nn
