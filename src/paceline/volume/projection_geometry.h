#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace paceline::volume {

/// A place or a direction in millimetres: x to the patient's right, y to the front, z up (RAS+).
using Vector = std::array<double, 3>;

/// A cube of voxels around the isocentre, of `fov_mm` a side. Its values lie in C order [z][y][x],
/// each at the middle of its voxel; outside there is none of what they measure.
struct CubeGrid {
  int side = 0;  ///< voxels
  double fov_mm = 0;

  double voxel_mm() const { return fov_mm / side; }
  std::size_t num_voxels() const {
    const auto length = static_cast<std::size_t>(side);
    return length * length * length;
  }
};

/// The pixels of a detector.
struct DetectorGrid {
  int rows = 0;
  int columns = 0;
};

/// A source that is a point, and a flat detector behind the patient.
struct ConeBeam {
  double source_to_isocentre_mm = 1000;
  double source_to_detector_mm = 1500;
};

/// How X-rays pass a cube. Of a view at 0 degrees the source is in front of the patient (frontal,
/// AP), at 90 at the patient's left (lateral, LR); in between it moves around the body's long axis.
/// Images show the patient upright, from the front with the right side on the left, from the side
/// looking to the left. The detector sees as much of the plane through the isocentre as the cube's
/// side, so a pixel there is fov_mm / columns wide and fov_mm / rows high.
struct ProjectionGeometry {
  double fov_mm = 400;
  std::vector<double> angles_degrees = {0, 90};
  std::optional<ConeBeam> cone = std::nullopt;  ///< nothing: parallel beams
};

/// A straight line: places start + t * direction, t in millimetres.
struct Ray {
  Vector start;
  Vector direction;  ///< of length 1
};

/// From where to where a line lies in a box: from t = first to last; nowhere if first >= last.
struct RaySpan {
  double first = -std::numeric_limits<double>::infinity();
  double last = std::numeric_limits<double>::infinity();
};

/// Of the box from `low` to `high` along each axis, in whatever the line is measured in.
RaySpan clip(const Ray& line, double low, double high);

/// The ray to the middle of each pixel of one view.
class ViewRays {
 public:
  /// Throws ConfigError for a cone whose source lies inside the cube, whatever the angle, or whose
  /// detector lies in front of the isocentre.
  ViewRays(const ProjectionGeometry& geometry, double angle_degrees, const DetectorGrid& detector);

  Ray at(int row, int column) const;
  const DetectorGrid& detector() const { return detector_; }

 private:
  DetectorGrid detector_;
  Vector along_;  ///< from the source to the middle of the detector
  Vector right_;  ///< from a pixel to the next one of its row, in the plane through the isocentre
  Vector down_;   ///< from a row to the next
  std::optional<ConeBeam> cone_;
};

}  // namespace paceline::volume
