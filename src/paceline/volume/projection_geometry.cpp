#include "paceline/volume/projection_geometry.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace paceline::volume {
namespace {

Vector sum(const Vector& a, double factor, const Vector& b) {
  return {a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]};
}

double length(const Vector& a) { return std::sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }

/// Exact at right angles, so that rays along an axis meet voxels as they should.
double exact_sine(double degrees) {
  const double turned = std::fmod(degrees, 360.0);
  if (turned == 0 || std::abs(turned) == 180) return 0;
  if (turned == 90 || turned == -270) return 1;
  if (turned == 270 || turned == -90) return -1;
  return std::sin(turned * std::numbers::pi / 180);
}

void check_cone(const ProjectionGeometry& geometry) {
  if (!geometry.cone) return;
  const auto& [to_isocentre, to_detector] = *geometry.cone;
  const double corner = geometry.fov_mm * std::numbers::sqrt3 / 2;
  if (to_isocentre <= corner) {
    throw base::ConfigError(fmt::format(
        "source_to_isocentre_mm is {}, but the cube of {} mm reaches {:.1f} mm from its "
        "middle: move the source further away",
        to_isocentre, geometry.fov_mm, corner));
  }
  if (to_detector <= to_isocentre) {
    throw base::ConfigError(fmt::format(
        "source_to_detector_mm is {}, and must be more than source_to_isocentre_mm, {}: the "
        "detector stands behind the patient",
        to_detector, to_isocentre));
  }
}

}  // namespace

RaySpan clip(const Ray& line, double low, double high) {
  RaySpan span;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double start = line.start[axis];
    const double step = line.direction[axis];
    if (step == 0) {
      if (start < low || start >= high) return {0, 0};
      continue;
    }
    const double one = (low - start) / step;
    const double other = (high - start) / step;
    span.first = std::max(span.first, std::min(one, other));
    span.last = std::min(span.last, std::max(one, other));
  }
  return span;
}

ViewRays::ViewRays(const ProjectionGeometry& geometry, double angle_degrees,
                   const DetectorGrid& detector)
    : detector_(detector), cone_(geometry.cone) {
  check_cone(geometry);
  const double sine = exact_sine(angle_degrees);
  const double cosine = exact_sine(angle_degrees + 90);
  const double column_mm = geometry.fov_mm / detector.columns;
  along_ = {sine, -cosine, 0};
  right_ = {-cosine * column_mm, -sine * column_mm, 0};
  down_ = {0, 0, -geometry.fov_mm / detector.rows};
}

Ray ViewRays::at(int row, int column) const {
  const Vector origin{0, 0, 0};
  const Vector in_row = sum(origin, column + 0.5 - detector_.columns / 2.0, right_);
  const Vector pixel = sum(in_row, row + 0.5 - detector_.rows / 2.0, down_);
  if (!cone_) return {pixel, along_};
  const Vector source = sum(origin, -cone_->source_to_isocentre_mm, along_);
  const Vector way = sum(pixel, -1, source);
  return {source, sum(origin, 1 / length(way), way)};
}

}  // namespace paceline::volume
