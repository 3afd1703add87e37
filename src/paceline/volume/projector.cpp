#include "paceline/volume/projector.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace paceline::volume {
namespace {

/// The ray in voxels: the middle of voxel (0, 0, 0) is the origin, and t is still in millimetres,
/// so that its direction has another length.
Ray in_voxels(const Ray& ray, const CubeGrid& grid) {
  Ray own{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    own.start[axis] = (ray.start[axis] + grid.fov_mm / 2) / grid.voxel_mm() - 0.5;
    own.direction[axis] = ray.direction[axis] / grid.voxel_mm();
  }
  return own;
}

std::size_t voxel_index(int side, int x, int y, int z) {
  const auto length = static_cast<std::size_t>(side);
  return (static_cast<std::size_t>(z) * length + static_cast<std::size_t>(y)) * length +
         static_cast<std::size_t>(x);
}

/// The two voxels along an axis between whose middles a place lies, and the share of the second;
/// one outside the cube has a share of nothing and a place that can be read.
struct Neighbours {
  std::array<int, 2> place;
  std::array<double, 2> share;
};

Neighbours neighbours_of(double place, int side) {
  const double below = std::floor(place);
  const double share = place - below;
  const int first = static_cast<int>(below);
  Neighbours found{{first, first + 1}, {1 - share, share}};
  for (std::size_t i = 0; i < 2; ++i) {
    if (found.place.at(i) >= 0 && found.place.at(i) < side) continue;
    found.place.at(i) = std::clamp(found.place.at(i), 0, side - 1);
    found.share.at(i) = 0;
  }
  return found;
}

/// visit(voxel, weight) for every voxel that one place on a ray is interpolated between.
template <class Visit>
void visit_place(const Vector& place, int side, double weight, Visit visit) {
  const Neighbours x = neighbours_of(place[0], side);
  const Neighbours y = neighbours_of(place[1], side);
  const Neighbours z = neighbours_of(place[2], side);
  for (std::size_t k = 0; k < 2; ++k) {
    for (std::size_t j = 0; j < 2; ++j) {
      const double of_row = weight * z.share[k] * y.share[j];
      const std::size_t row = voxel_index(side, 0, y.place[j], z.place[k]);
      for (std::size_t i = 0; i < 2; ++i)
        visit(row + static_cast<std::size_t>(x.place[i]), of_row * x.share[i]);
    }
  }
}

template <class Visit>
void visit_trilinear(const Ray& ray, const CubeGrid& grid, Visit visit) {
  const RayPlaces places = places_on(ray, grid);
  for (int i = 0; i < places.count; ++i) {
    const Vector place{places.first[0] + i * places.step[0], places.first[1] + i * places.step[1],
                       places.first[2] + i * places.step[2]};
    visit_place(place, grid.side, places.weight, visit);
  }
}

/// From one plane between voxels to the next.
template <class Visit>
void visit_siddon(const Ray& ray, const CubeGrid& grid, Visit visit) {
  const auto [first, last] = clip(ray, -0.5, grid.side - 0.5);
  if (first >= last) return;
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::array<int, 3> voxel{};
  std::array<int, 3> direction{};
  Vector next{};      // where each axis has its next plane
  Vector distance{};  // between its planes
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double step = ray.direction[axis];
    const double inside = ray.start[axis] + first * step + 0.5;
    direction[axis] = step > 0 ? 1 : -1;
    // Where it enters by a plane of this axis the voxel behind it is meant.
    const double entered = step < 0 ? std::ceil(inside) - 1 : std::floor(inside);
    voxel[axis] = std::clamp(static_cast<int>(entered), 0, grid.side - 1);
    const double plane = voxel[axis] + (step > 0 ? 0.5 : -0.5);
    next[axis] = step == 0 ? kNever : (plane - ray.start[axis]) / step;
    distance[axis] = step == 0 ? kNever : 1 / std::abs(step);
  }
  for (double t = first; t < last;) {
    const auto axis = static_cast<std::size_t>(std::ranges::min_element(next) - next.begin());
    const double end = std::min(next[axis], last);
    if (end > t)
      visit(voxel_index(grid.side, voxel[0], voxel[1], voxel[2]), (end - t) / grid.fov_mm);
    t = std::max(t, end);
    next[axis] += distance[axis];
    voxel[axis] += direction[axis];
    if (voxel[axis] < 0 || voxel[axis] >= grid.side) return;
  }
}

template <class Visit>
void visit_ray(const Ray& ray, const CubeGrid& grid, RayMethod method, Visit visit) {
  if (method == RayMethod::kSiddon) return visit_siddon(in_voxels(ray, grid), grid, visit);
  visit_trilinear(ray, grid, visit);
}

void check_sizes(std::size_t cube, const CubeGrid& grid, std::size_t image, const ViewRays& rays,
                 int num_rows) {
  PACELINE_CHECK(cube == grid.num_voxels(), "{} values of a cube of {}^3", cube, grid.side);
  PACELINE_CHECK(image == static_cast<std::size_t>(num_rows) *
                              static_cast<std::size_t>(rays.detector().columns),
                 "{} pixels of {} rows of {}", image, num_rows, rays.detector().columns);
}

}  // namespace

RayPlaces places_on(const Ray& ray, const CubeGrid& grid) {
  const Ray own = in_voxels(ray, grid);
  const auto [first, last] = clip(own, -1, grid.side);
  if (first >= last) return {};
  const double count = std::ceil((last - first) / (grid.voxel_mm() / 2));
  const double step = (last - first) / count;
  RayPlaces places{.weight = step / grid.fov_mm, .count = static_cast<int>(count)};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    places.first.at(axis) = own.start.at(axis) + (first + step / 2) * own.direction.at(axis);
    places.step.at(axis) = step * own.direction.at(axis);
  }
  return places;
}

template <class Value>
void project(std::span<const Value> cube, const CubeGrid& grid, const ViewRays& rays,
             RayMethod method, int first_row, int last_row, std::span<Value> image) {
  check_sizes(cube.size(), grid, image.size(), rays, last_row - first_row);
  auto pixel = image.begin();
  for (int row = first_row; row < last_row; ++row) {
    for (int column = 0; column < rays.detector().columns; ++column) {
      double integral = 0;
      visit_ray(rays.at(row, column), grid, method, [&](std::size_t voxel, double weight) {
        integral += weight * static_cast<double>(cube[voxel]);
      });
      *pixel++ = static_cast<Value>(integral);
    }
  }
}

template <class Value>
void project_back(std::span<const Value> image, const CubeGrid& grid, const ViewRays& rays,
                  RayMethod method, int first_row, int last_row, std::span<Value> cube) {
  check_sizes(cube.size(), grid, image.size(), rays, last_row - first_row);
  auto pixel = image.begin();
  for (int row = first_row; row < last_row; ++row) {
    for (int column = 0; column < rays.detector().columns; ++column) {
      const auto value = static_cast<double>(*pixel++);
      if (value == 0) continue;
      visit_ray(rays.at(row, column), grid, method, [&](std::size_t voxel, double weight) {
        cube[voxel] += static_cast<Value>(weight * value);
      });
    }
  }
}

template void project(std::span<const float>, const CubeGrid&, const ViewRays&, RayMethod, int, int,
                      std::span<float>);
template void project(std::span<const double>, const CubeGrid&, const ViewRays&, RayMethod, int,
                      int, std::span<double>);
template void project_back(std::span<const float>, const CubeGrid&, const ViewRays&, RayMethod, int,
                           int, std::span<float>);
template void project_back(std::span<const double>, const CubeGrid&, const ViewRays&, RayMethod,
                           int, int, std::span<double>);

}  // namespace paceline::volume
