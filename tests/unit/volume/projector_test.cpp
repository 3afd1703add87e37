#include "paceline/volume/projector.h"

#include "paceline/base/error.h"
#include "paceline/base/philox.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::volume {
namespace {

constexpr double kFov = 90;

std::vector<double> noise(std::size_t count, std::uint64_t number) {
  base::Philox draws(1, base::DrawPurpose::kTest, number, 0);
  std::vector<double> values(count);
  for (double& value : values) value = draws.uniform(0.0, 2.0);
  return values;
}

std::size_t cubed(int side) { return static_cast<std::size_t>(side * side * side); }

std::vector<double> image_of(const std::vector<double>& cube, int side, const ViewRays& rays,
                             RayMethod method) {
  const auto& [rows, columns] = rays.detector();
  std::vector<double> image(static_cast<std::size_t>(rows * columns));
  project<double>(cube, {side, kFov}, rays, method, 0, rows, image);
  return image;
}

/// How long a ray is in a box.
double length_in(const Ray& ray, const Vector& low, const Vector& high) {
  double first = -1e9;
  double last = 1e9;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double start = ray.start.at(axis);
    const double step = ray.direction.at(axis);
    if (step == 0) {
      if (start < low.at(axis) || start >= high.at(axis)) return 0;
      continue;
    }
    const double a = (low.at(axis) - start) / step;
    const double b = (high.at(axis) - start) / step;
    first = std::max(first, std::min(a, b));
    last = std::min(last, std::max(a, b));
  }
  return std::max(0.0, last - first);
}

/// Siddon's sum by clipping the ray to every voxel.
double sum_over_voxels(const std::vector<double>& cube, int side, const Ray& ray) {
  const double voxel = kFov / side;
  double sum = 0;
  std::size_t index = 0;
  for (int z = 0; z < side; ++z) {
    for (int y = 0; y < side; ++y) {
      for (int x = 0; x < side; ++x) {
        const Vector low{x * voxel - kFov / 2, y * voxel - kFov / 2, z * voxel - kFov / 2};
        const Vector high{low[0] + voxel, low[1] + voxel, low[2] + voxel};
        sum += cube[index++] * length_in(ray, low, high) / kFov;
      }
    }
  }
  return sum;
}

/// Every kind of view of a cube with seven voxels a side: rays along axes and across, between and
/// on the planes that part voxels, and some that miss it.
std::vector<ViewRays> all_views() {
  std::vector<ViewRays> views;
  for (const double angle : {0.0, 90.0, 180.0, 17.0, -45.0, 120.5}) {
    views.emplace_back(ProjectionGeometry{.fov_mm = kFov}, angle, DetectorGrid{7, 7});
    views.emplace_back(ProjectionGeometry{.fov_mm = 1.5 * kFov}, angle, DetectorGrid{5, 8});
    views.emplace_back(ProjectionGeometry{.fov_mm = kFov, .cone = ConeBeam{100, 190}}, angle,
                       DetectorGrid{6, 7});
  }
  return views;
}

TEST(Projector, SiddonIsTheSumOverEveryVoxel) {
  constexpr int kSide = 7;
  const std::vector<double> cube = noise(cubed(kSide), 0);
  double largest = 0;
  for (const ViewRays& rays : all_views()) {
    const std::vector<double> image = image_of(cube, kSide, rays, RayMethod::kSiddon);
    std::size_t pixel = 0;
    for (int row = 0; row < rays.detector().rows; ++row) {
      for (int column = 0; column < rays.detector().columns; ++column) {
        const Ray ray = rays.at(row, column);
        const double wanted = sum_over_voxels(cube, kSide, ray);
        EXPECT_NEAR(image[pixel++], wanted, 1e-12)
            << row << ", " << column << " along " << ray.direction[0] << ", " << ray.direction[1];
        largest = std::max(largest, wanted);
      }
    }
  }
  EXPECT_GT(largest, 0.5);
}

TEST(Projector, TrilinearIsExactWhereValuesAreLinear) {
  constexpr int kSide = 9;
  std::vector<double> cube;
  for (int z = 0; z < kSide; ++z) {
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) cube.push_back(x >= 4 ? 0.0 : 1.0);
    }
  }
  // Along x the values rise to 1 within half a voxel before and half a voxel in the first, are 1 up
  // to the middle of the fourth and fall to 0 within one: four voxels in all.
  const ViewRays rays({.fov_mm = kFov}, 90, {9, 9});
  const std::vector<double> image = image_of(cube, kSide, rays, RayMethod::kTrilinear);
  EXPECT_NEAR(image[40], 4.0 / 9, 1e-12);
  EXPECT_NEAR(image[0], 4.0 / 9, 1e-12) << "rays that go through the middles of the first voxels";
  const ViewRays front({.fov_mm = kFov}, 0, {9, 9});
  const std::vector<double> seen = image_of(cube, kSide, front, RayMethod::kTrilinear);
  EXPECT_NEAR(seen[8], 1.0, 1e-12) << "the patient's left, where x is low, is on the right";
  EXPECT_NEAR(seen[0], 0.0, 1e-12);
}

TEST(Projector, RowsDoNotHangOnEachOther) {
  constexpr int kSide = 6;
  const std::vector<double> cube = noise(cubed(kSide), 1);
  const ViewRays rays({.fov_mm = kFov, .cone = ConeBeam{100, 150}}, 20, {5, 4});
  for (const RayMethod method : {RayMethod::kTrilinear, RayMethod::kSiddon}) {
    const std::vector<double> whole = image_of(cube, kSide, rays, method);
    std::vector<double> rows(8);
    project<double>(cube, {kSide, kFov}, rays, method, 2, 4, rows);
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), whole.begin() + 8));
  }
}

TEST(Projector, BackIsTheTranspose) {
  constexpr int kSide = 6;
  const std::vector<double> cube = noise(cubed(kSide), 2);
  for (const ViewRays& rays : all_views()) {
    const auto& [rows, columns] = rays.detector();
    const std::vector<double> weights = noise(static_cast<std::size_t>(rows * columns), 3);
    for (const RayMethod method : {RayMethod::kTrilinear, RayMethod::kSiddon}) {
      const std::vector<double> image = image_of(cube, kSide, rays, method);
      std::vector<double> back(cube.size(), 0.0);
      project_back<double>(weights, {kSide, kFov}, rays, method, 0, rows, back);
      double forward = 0;
      double backward = 0;
      for (std::size_t i = 0; i < image.size(); ++i) forward += image[i] * weights[i];
      for (std::size_t i = 0; i < cube.size(); ++i) backward += cube[i] * back[i];
      EXPECT_NEAR(forward, backward, 1e-12 * forward);
    }
  }
}

TEST(Projector, RefusesOtherNumbersOfValues) {
  const ViewRays rays({.fov_mm = kFov}, 0, {2, 2});
  std::vector<float> image(4);
  const std::vector<float> cube(26);
  EXPECT_THROW(project<float>(cube, {3, kFov}, rays, RayMethod::kSiddon, 0, 2, image),
               base::InternalError);
}

TEST(Projector, HounsfieldUnitsAreAttenuations) {
  EXPECT_EQ(attenuation_of_hu(-1000), 0);
  EXPECT_EQ(attenuation_of_hu(-3024), 0) << "outside of a scanner's field of view";
  EXPECT_EQ(attenuation_of_hu(0), 1);
  EXPECT_EQ(attenuation_of_hu(1000), 2);
}

}  // namespace
}  // namespace paceline::volume
