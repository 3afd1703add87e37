#pragma once

#include "paceline/data/sources/ct/ct_config.h"
#include "paceline/volume/projector.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace paceline::data {

/// Water's attenuation of photons of 60 keV. Source: NIST XCOM.
inline constexpr double kWaterPerMm = 0.0206;

/// Makes X-rays of volumes as a recipe says. Immutable; any number of threads may use it.
class CtProjector {
 public:
  /// X-rays of `size` rows and columns. Throws ConfigError for a source within the cube, or a
  /// detector before its middle.
  CtProjector(const CtConfig& config, std::int64_t size, double fov_mm);

  /// Of the same views with other pixels.
  CtProjector with_size(std::int64_t size) const;

  std::size_t num_views() const { return geometry_.angles_degrees.size(); }
  std::int64_t size() const { return size_; }
  std::size_t num_pixels() const { return num_views() * pixels_of_view(); }  ///< of all views
  std::size_t pixels_of_view() const { return static_cast<std::size_t>(size_ * size_); }
  volume::DetectorGrid detector() const;

  /// Integrals of attenuation along the rays of each view, [views, size, size], of a volume
  /// [z][y][x] of Hounsfield units: 1 is a way through water as long as the cube's side.
  void integrate(std::span<const float> hu, std::int64_t side, std::span<float> integrals) const;

  /// What integrals become: divided by data.full_scale and clamped to [0, 1].
  void to_intensities(std::span<float> integrals) const;

  /// All that integrals depend on besides the volume.
  std::string key() const;

 private:
  volume::ProjectionGeometry geometry_;
  volume::RayMethod method_;
  std::int64_t size_;
  double full_scale_;
};

}  // namespace paceline::data
