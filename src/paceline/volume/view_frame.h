#pragma once

#include "paceline/volume/projection_geometry.h"

#include <optional>

namespace paceline::volume {

/// How a view looks at the cube: directions of length 1, lengths in half sides of the cube, which
/// reaches from -1 to 1. At right angles all of it is exact.
struct ViewFrame {
  Vector right{};    ///< from a pixel to the next one of its row
  Vector down{};     ///< from a row to the next
  Vector along{};    ///< from the source to the middle of the detector
  double reach = 1;  ///< the cube's depth: -reach to reach in the direction `along`
  std::optional<double> source = {};  ///< how far from the isocentre; nothing: parallel beams

  /// Whether each voxel of a column along an axis of the cube lies on the same ray.
  bool is_along_axes() const { return !source && reach == 1; }
};

/// Throws ConfigError as ViewRays does.
ViewFrame view_frame(const ProjectionGeometry& geometry, double angle_degrees);

/// Where a place, in half sides of the cube, is seen: column and row on the detector, from -1 at
/// the outer edge of the first to 1 at that of the last, and its depth, from -1 to 1 as well.
Vector seen_at(const ViewFrame& frame, const Vector& place);

}  // namespace paceline::volume
