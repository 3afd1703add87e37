#pragma once

#include "paceline/volume/projection_geometry.h"

#include <cstdint>
#include <span>
#include <vector>

namespace paceline::volume {

/// What a place in a phantom belongs to; the numbers of label volumes.
enum class Organ : std::uint8_t {
  kAir = 0,
  kBody = 1,
  kLung = 2,
  kHeart = 3,
  kSpine = 4,
  kLiver = 5,
  kLesion = 6,
};

/// A part of a phantom: an ellipsoid, two of whose axes lie across the body, turned around its long
/// axis.
struct Ellipsoid {
  Vector center_mm{};
  Vector half_axes_mm{};
  double turn_degrees = 0;  ///< from x towards y
  double hu = 0;            ///< Hounsfield units inside
  Organ organ = Organ::kBody;
};

/// A patient made of ellipsoids, the later ones inside or over the earlier ones, in air of -1000
/// Hounsfield units.
struct Phantom {
  std::vector<Ellipsoid> parts;
};

/// Patient `index` of a seed: a body with two lungs, a heart, a spine, a liver and up to
/// three lesions in the lungs, of drawn places, sizes, angles and densities, for a cube of this
/// side. A function of its arguments.
Phantom draw_phantom(std::uint64_t seed, std::uint64_t index, double fov_mm);

/// Hounsfield units of each voxel, the mean over 3 x 3 x 3 points in it; C order [z][y][x].
std::vector<float> voxels_of(const Phantom& phantom, const CubeGrid& grid);

/// The organ at the middle of each voxel.
std::vector<std::uint8_t> labels_of(const Phantom& phantom, const CubeGrid& grid);

/// What project() approximates, without voxels: the integral of attenuation_of_hu() along a ray
/// over the cube's side.
double exact_projection(const Phantom& phantom, const Ray& ray, double fov_mm);

/// The same of every pixel of a view, row by row.
std::vector<float> exact_view(const Phantom& phantom, const ViewRays& rays, double fov_mm);

}  // namespace paceline::volume
