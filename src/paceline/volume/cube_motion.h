#pragma once

#include "paceline/volume/projection_geometry.h"

#include <cstdint>
#include <span>
#include <vector>

namespace paceline::volume {

/// How a patient is moved in a cube, in this order: mirrored from left to right, made larger around
/// the isocentre, turned around the body's long axis from x towards y, shifted.
struct CubeMotion {
  bool is_mirrored = false;
  double scale = 1;
  double turn_degrees = 0;
  Vector shift_mm{};
};

/// The place that comes to `place_mm` by the motion.
Vector source_of(const Vector& place_mm, const CubeMotion& motion);

/// A cube of the moved patient, [z][y][x]: each voxel is interpolated between the eight middles
/// around the place that it comes from. What lies outside the cube is `outside`, from a voxel
/// beyond the outermost middles on. `cube` has grid.num_voxels() values. A motion that only mirrors
/// moves values and changes none.
std::vector<float> move_cube(std::span<const std::int16_t> cube, const CubeGrid& grid,
                             const CubeMotion& motion, float outside);

}  // namespace paceline::volume
