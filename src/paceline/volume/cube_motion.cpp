#include "paceline/volume/cube_motion.h"

#include "paceline/base/error.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace paceline::volume {
namespace {

/// The motion backwards, ready for many places.
class WayBack {
 public:
  explicit WayBack(const CubeMotion& motion)
      : cosine_(motion.turn_degrees == 0 ? 1 : std::cos(radians(motion))),
        sine_(motion.turn_degrees == 0 ? 0 : std::sin(radians(motion))),
        sign_(motion.is_mirrored ? -1 : 1),
        scale_(motion.scale),
        shift_(motion.shift_mm) {}

  /// `unit` millimetres are what places are measured in.
  Vector from(const Vector& place, double unit) const {
    const double x = place[0] - shift_[0] / unit;
    const double y = place[1] - shift_[1] / unit;
    return {sign_ * (cosine_ * x + sine_ * y) / scale_, (cosine_ * y - sine_ * x) / scale_,
            (place[2] - shift_[2] / unit) / scale_};
  }

 private:
  static double radians(const CubeMotion& motion) {
    return motion.turn_degrees * std::numbers::pi / 180;
  }

  double cosine_;
  double sine_;
  double sign_;
  double scale_;
  Vector shift_;
};

/// Reads between the middles of voxels.
class CubeReader {
 public:
  CubeReader(std::span<const std::int16_t> cube, int side, float outside)
      : cube_(cube), side_(side), outside_(outside) {}

  /// At a place in voxels, of which (0, 0, 0) is the middle of the first.
  float at(const Vector& place) const {
    std::array<int, 3> first{};
    std::array<double, 3> share{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (!(place[axis] > -1 && place[axis] < side_)) return outside_;
      const double below = std::floor(place[axis]);
      first[axis] = static_cast<int>(below);
      share[axis] = place[axis] - below;
    }
    double sum = 0;
    for (int k = 0; k < 2; ++k) {
      for (int j = 0; j < 2; ++j) {
        const double of_row = weight(share[2], k) * weight(share[1], j);
        for (int i = 0; i < 2; ++i)
          sum += of_row * weight(share[0], i) * value(first[0] + i, first[1] + j, first[2] + k);
      }
    }
    return static_cast<float>(sum);
  }

 private:
  static double weight(double share, int which) { return which == 0 ? 1 - share : share; }
  double value(int x, int y, int z) const {
    const auto is_inside = [&](int i) { return i >= 0 && i < side_; };
    if (!is_inside(x) || !is_inside(y) || !is_inside(z)) return outside_;
    const auto length = static_cast<std::size_t>(side_);
    return cube_[(static_cast<std::size_t>(z) * length + static_cast<std::size_t>(y)) * length +
                 static_cast<std::size_t>(x)];
  }

  std::span<const std::int16_t> cube_;
  int side_;
  float outside_;
};

}  // namespace

Vector source_of(const Vector& place_mm, const CubeMotion& motion) {
  return WayBack(motion).from(place_mm, 1);
}

std::vector<float> move_cube(std::span<const std::int16_t> cube, const CubeGrid& grid,
                             const CubeMotion& motion, float outside) {
  PACELINE_CHECK(cube.size() == grid.num_voxels(), "a cube of {} values, expected {}", cube.size(),
                 grid.num_voxels());
  const WayBack way(motion);
  const CubeReader reader(cube, grid.side, outside);
  // Places from the isocentre in voxels are halves: without a turn they stay exact.
  const double middle = (grid.side - 1) / 2.0;
  std::vector<float> moved(cube.size());
  auto value = moved.begin();
  for (int z = 0; z < grid.side; ++z) {
    for (int y = 0; y < grid.side; ++y) {
      for (int x = 0; x < grid.side; ++x) {
        const Vector from = way.from({x - middle, y - middle, z - middle}, grid.voxel_mm());
        *value++ = reader.at({from[0] + middle, from[1] + middle, from[2] + middle});
      }
    }
  }
  return moved;
}

}  // namespace paceline::volume
