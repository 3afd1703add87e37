#include "paceline/data/sources/ct/ct_projector.h"

#include <algorithm>
#include <vector>

#include <fmt/ranges.h>

namespace paceline::data {

CtProjector::CtProjector(const CtConfig& config, std::int64_t size, double fov_mm)
    : geometry_{.fov_mm = fov_mm, .angles_degrees = config.geometry.angles},
      method_(config.projector),
      size_(size),
      full_scale_(config.full_scale) {
  const CtGeometryConfig& given = config.geometry;
  if (given.source_to_isocentre_mm && given.source_to_detector_mm)
    geometry_.cone = {.source_to_isocentre_mm = *given.source_to_isocentre_mm,
                      .source_to_detector_mm = *given.source_to_detector_mm};
  volume::ViewRays(geometry_, 0, detector());  // throws for a cone that cannot be
}

CtProjector CtProjector::with_size(std::int64_t size) const {
  CtProjector other = *this;
  other.size_ = size;
  return other;
}

volume::DetectorGrid CtProjector::detector() const {
  return {.rows = static_cast<int>(size_), .columns = static_cast<int>(size_)};
}

void CtProjector::integrate(std::span<const float> hu, std::int64_t side,
                            std::span<float> integrals) const {
  std::vector<float> attenuation(hu.size());
  std::ranges::transform(hu, attenuation.begin(), [](float value) {
    return static_cast<float>(volume::attenuation_of_hu(value));
  });
  const volume::CubeGrid grid{.side = static_cast<int>(side), .fov_mm = geometry_.fov_mm};
  const auto rows = static_cast<int>(size_);
  for (std::size_t view = 0; view < num_views(); ++view) {
    const volume::ViewRays rays(geometry_, geometry_.angles_degrees[view], detector());
    volume::project<float>(attenuation, grid, rays, method_, 0, rows,
                           integrals.subspan(view * pixels_of_view(), pixels_of_view()));
  }
}

void CtProjector::to_intensities(std::span<float> integrals) const {
  for (float& value : integrals)
    value = static_cast<float>(std::clamp(static_cast<double>(value) / full_scale_, 0.0, 1.0));
}

std::string CtProjector::key() const {
  std::string text =
      fmt::format("x-rays 1, {} x {}, {} at {}, fov {}", size_, size_, config::enum_name(method_),
                  fmt::join(geometry_.angles_degrees, " "), geometry_.fov_mm);
  if (geometry_.cone)
    text += fmt::format(", cone {} {}", geometry_.cone->source_to_isocentre_mm,
                        geometry_.cone->source_to_detector_mm);
  return text;
}

}  // namespace paceline::data
