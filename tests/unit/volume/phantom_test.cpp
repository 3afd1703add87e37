#include "paceline/volume/phantom.h"

#include "paceline/volume/projector.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::volume {
namespace {

constexpr double kPhantomFov = 400;

TEST(Phantom, IsAFunctionOfItsSeedAndIndex) {
  const CubeGrid grid{12, kPhantomFov};
  const auto voxels = voxels_of(draw_phantom(1, 2, kPhantomFov), grid);
  EXPECT_EQ(voxels, voxels_of(draw_phantom(1, 2, kPhantomFov), grid));
  EXPECT_NE(voxels, voxels_of(draw_phantom(1, 3, kPhantomFov), grid));
  EXPECT_NE(voxels, voxels_of(draw_phantom(2, 2, kPhantomFov), grid));
}

TEST(Phantom, HasTheOrgansOfAPatientInsideTheCube) {
  std::set<std::size_t> numbers_of_lesions;
  for (std::uint64_t index = 0; index < 40; ++index) {
    const Phantom phantom = draw_phantom(5, index, kPhantomFov);
    std::size_t lesions = 0;
    std::set<Organ> organs;
    for (const Ellipsoid& part : phantom.parts) {
      organs.insert(part.organ);
      lesions += static_cast<std::size_t>(part.organ == Organ::kLesion);
    }
    for (const Organ organ :
         {Organ::kBody, Organ::kLung, Organ::kHeart, Organ::kSpine, Organ::kLiver})
      EXPECT_TRUE(organs.contains(organ)) << index;
    numbers_of_lesions.insert(lesions);
    const Ellipsoid& body = phantom.parts.front();
    EXPECT_LT(std::abs(body.center_mm[2]) + body.half_axes_mm[2], kPhantomFov / 2);
  }
  EXPECT_EQ(numbers_of_lesions, (std::set<std::size_t>{0, 1, 2, 3}));
}

TEST(Phantom, SidesAreThePatients) {
  const Phantom phantom = draw_phantom(1, 0, kPhantomFov);
  const auto center_of = [&](Organ organ) {
    return std::ranges::find(phantom.parts, organ, &Ellipsoid::organ)->center_mm;
  };
  const Vector body = phantom.parts.front().center_mm;
  EXPECT_GT(center_of(Organ::kLiver)[0], body[0]) << "on the right";
  EXPECT_LT(center_of(Organ::kHeart)[0], body[0]);
  EXPECT_LT(center_of(Organ::kSpine)[1], body[1]) << "behind";
  EXPECT_GT(center_of(Organ::kLung)[2], center_of(Organ::kLiver)[2]) << "above";
}

TEST(Phantom, VoxelsAndLabelsAgree) {
  const CubeGrid grid{24, kPhantomFov};
  const Phantom phantom = draw_phantom(3, 1, kPhantomFov);
  const auto voxels = voxels_of(phantom, grid);
  const auto labels = labels_of(phantom, grid);
  std::size_t found = 0;
  for (std::size_t i = 0; i < voxels.size(); ++i) {
    if (labels[i] != static_cast<std::uint8_t>(Organ::kAir)) continue;
    ++found;
    EXPECT_LT(voxels[i], 0) << "most of the voxel is air, and the rest no metal";
  }
  EXPECT_GT(found, voxels.size() / 4);
  EXPECT_EQ(voxels.front(), -1000);
  EXPECT_EQ(std::set(labels.begin(), labels.end()).contains(std::uint8_t{2}), true);
}

TEST(Phantom, ExactProjectionsAreTheLimitOfSmallSteps) {
  const Phantom phantom = draw_phantom(3, 4, kPhantomFov);
  const auto hu_at = [&](const Vector& place) {
    const CubeGrid point{1, 1e-9};  // a cube of one voxel, moved there
    Phantom moved = phantom;
    for (Ellipsoid& part : moved.parts) {
      for (std::size_t axis = 0; axis < 3; ++axis) part.center_mm.at(axis) -= place.at(axis);
    }
    return voxels_of(moved, point).front();
  };
  const ViewRays rays({.fov_mm = kPhantomFov, .cone = ConeBeam{1000, 1500}}, 35, {8, 8});
  for (const auto& [row, column] : {std::array{3, 4}, std::array{4, 2}, std::array{2, 5}}) {
    const Ray ray = rays.at(row, column);
    constexpr int kSteps = 100'000;
    double sum = 0;
    for (int i = 0; i < kSteps; ++i) {
      const double t = 500 + (i + 0.5) * 1000.0 / kSteps;
      Vector place{};
      bool is_inside = true;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        place.at(axis) = ray.start.at(axis) + t * ray.direction.at(axis);
        is_inside = is_inside && std::abs(place.at(axis)) <= kPhantomFov / 2;
      }
      if (is_inside) sum += attenuation_of_hu(hu_at(place)) * 1000.0 / kSteps / kPhantomFov;
    }
    EXPECT_NEAR(exact_projection(phantom, ray, kPhantomFov), sum, 2e-4);
    EXPECT_GT(sum, 0.1);
  }
}

/// The relative L2 error of a projection, the mean over patients and views.
double projection_error(int side, const ProjectionGeometry& geometry, RayMethod method) {
  const std::uint64_t num_patients = side < 128 ? 2 : 1;  // of so many voxels one takes seconds
  double sum = 0;
  for (std::uint64_t index = 0; index < num_patients; ++index) {
    const Phantom phantom = draw_phantom(1, index, kPhantomFov);
    std::vector<float> voxels = voxels_of(phantom, {side, kPhantomFov});
    for (float& value : voxels) value = static_cast<float>(attenuation_of_hu(value));
    for (const double angle : geometry.angles_degrees) {
      const ViewRays rays(geometry, angle, {side, side});
      std::vector<float> image(static_cast<std::size_t>(side * side));
      project<float>(voxels, {side, kPhantomFov}, rays, method, 0, side, image);
      const std::vector<float> exact = exact_view(phantom, rays, kPhantomFov);
      double difference = 0;
      double size = 0;
      for (std::size_t i = 0; i < image.size(); ++i) {
        difference += std::pow(double{image[i]} - double{exact[i]}, 2);
        size += std::pow(double{exact[i]}, 2);
      }
      sum += std::sqrt(difference / size);
    }
  }
  return sum / static_cast<double>(num_patients * geometry.angles_degrees.size());
}

TEST(Phantom, ProjectionsOfVoxelsComeCloseToTheExactOnes) {
  const ProjectionGeometry parallel{.fov_mm = kPhantomFov};
  for (const auto& [side, trilinear, siddon] :
       {std::tuple{32, .06, .11}, std::tuple{64, .03, .06}, std::tuple{128, .015, .035}}) {
    EXPECT_LE(projection_error(side, parallel, RayMethod::kTrilinear), trilinear) << side;
    EXPECT_LE(projection_error(side, parallel, RayMethod::kSiddon), siddon) << side;
  }
  const ProjectionGeometry cone{
      .fov_mm = kPhantomFov, .angles_degrees = {0, 40}, .cone = ConeBeam{1000, 1500}};
  EXPECT_LE(projection_error(32, cone, RayMethod::kTrilinear), .06);
  EXPECT_LE(projection_error(32, cone, RayMethod::kSiddon), .11);
}

/// PSNR in dB of volumes whose window of Hounsfield units, [-1000, 3000], is the range.
double psnr(const std::vector<float>& a, const std::vector<float>& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto in_window = [](float hu) { return std::clamp(double{hu}, -1000.0, 3000.0); };
    squares += std::pow(in_window(a[i]) - in_window(b[i]), 2);
  }
  return 10 * std::log10(4000.0 * 4000.0 * static_cast<double>(a.size()) / squares);
}

TEST(Phantom, PatientsDifferSoThatImagesMustBeLookedAt) {
  constexpr std::size_t kPatients = 30;
  std::vector<std::vector<float>> patients;
  for (std::size_t i = 0; i < kPatients; ++i)
    patients.push_back(voxels_of(draw_phantom(7, i, kPhantomFov), {16, kPhantomFov}));
  std::vector<float> mean(patients.front().size());
  for (const auto& patient : patients) {
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += patient[i] / static_cast<float>(kPatients);
  }
  double to_others = 0;
  double to_mean = 0;
  for (std::size_t i = 0; i < kPatients; ++i) {
    to_others += psnr(patients[i], patients[(i + 1) % kPatients]) / kPatients;
    to_mean += psnr(patients[i], mean) / kPatients;
  }
  EXPECT_LE(to_others, 17);
  EXPECT_LE(to_mean, 20);
}

}  // namespace
}  // namespace paceline::volume
