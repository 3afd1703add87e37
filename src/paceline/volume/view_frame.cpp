#include "paceline/volume/view_frame.h"

#include <cmath>

namespace paceline::volume {
namespace {

double inner_product(const Vector& a, const Vector& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// From one place to another, in `unit`.
Vector way(const Vector& from, const Vector& to, double unit) {
  return {(to[0] - from[0]) / unit, (to[1] - from[1]) / unit, (to[2] - from[2]) / unit};
}

}  // namespace

ViewFrame view_frame(const ProjectionGeometry& geometry, double angle_degrees) {
  const Ray middle = ViewRays(geometry, angle_degrees, {1, 1}).at(0, 0);
  // Of parallel beams, those of two pixels start as far from one another as they are wide.
  ProjectionGeometry parallel = geometry;
  parallel.cone.reset();
  const ViewRays pixels(parallel, angle_degrees, {2, 2});
  const double half = geometry.fov_mm / 2;
  ViewFrame frame;
  frame.right = way(pixels.at(0, 0).start, pixels.at(0, 1).start, half);
  frame.down = way(pixels.at(0, 0).start, pixels.at(1, 0).start, half);
  frame.along = middle.direction;
  frame.reach = std::abs(frame.along[0]) + std::abs(frame.along[1]);
  if (geometry.cone) frame.source = geometry.cone->source_to_isocentre_mm / half;
  return frame;
}

Vector seen_at(const ViewFrame& frame, const Vector& place) {
  const double depth = inner_product(place, frame.along);
  const double magnified = frame.source ? *frame.source / (*frame.source + depth) : 1;
  return {magnified * inner_product(place, frame.right),
          magnified * inner_product(place, frame.down), depth / frame.reach};
}

}  // namespace paceline::volume
