#pragma once

#include "paceline/volume/projection_geometry.h"

#include <span>

namespace paceline::volume {

/// How an integral along a ray follows from voxels.
enum class RayMethod {
  kTrilinear,  ///< values between the middles of voxels interpolated, at steps of half a voxel
  kSiddon,     ///< each voxel counts by the length of the ray in it; Siddon, Med. Phys. 12(2), 1985
};

/// What RayMethod::kTrilinear takes of a ray: `count` places, first + i * step in voxels (the
/// middle of voxel (0, 0, 0) is the origin, x first), each of which counts `weight`. Along the part
/// of the ray where values are interpolated, which ends a voxel beyond the middles of the outermost
/// ones.
struct RayPlaces {
  Vector first{};
  Vector step{};
  double weight = 0;  ///< the length of a step over the cube's side
  int count = 0;      ///< 0: it misses the cube
};
RayPlaces places_on(const Ray& ray, const CubeGrid& grid);

/// Integrals of a cube's values along the rays to rows [first_row, last_row) of a view, each
/// divided by the cube's side: 1 is what a way of fov_mm through values of 1 gives. `cube` has
/// side^3 values, `image` one for each pixel of these rows. Linear in the values; of the same
/// geometry for data and losses. `Value` is float or double; sums are double.
template <class Value>
void project(std::span<const Value> cube, const CubeGrid& grid, const ViewRays& rays,
             RayMethod method, int first_row, int last_row, std::span<Value> image);

/// The transpose of project(): adds to `cube` what each pixel of these rows gives to the voxels
/// that it was made of. With an image of gradients these are the cube's.
template <class Value>
void project_back(std::span<const Value> image, const CubeGrid& grid, const ViewRays& rays,
                  RayMethod method, int first_row, int last_row, std::span<Value> cube);

/// How much X-rays of one quality are weakened, relative to water, by tissue of so many Hounsfield
/// units: max(0, 1 + hu / 1000).
inline double attenuation_of_hu(double hu) { return hu > -1000 ? 1 + hu / 1000 : 0.0; }

}  // namespace paceline::volume
