#include "paceline/data/sources/ct/ct_projector.h"

#include "paceline/base/error.h"
#include "paceline/volume/phantom.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr double kProjectedFov = 400;

std::vector<float> integrals_of(const CtConfig& config, const std::vector<float>& hu, int side,
                                int size) {
  const CtProjector projector(config, size, kProjectedFov);
  std::vector<float> integrals(projector.num_pixels());
  projector.integrate(hu, side, integrals);
  return integrals;
}

/// How far they are from what the phantom itself casts.
double projection_error(const CtConfig& config, const volume::ProjectionGeometry& geometry) {
  constexpr int kSide = 32;
  const volume::Phantom phantom = volume::draw_phantom(1, 5, kProjectedFov);
  const auto found =
      integrals_of(config, volume::voxels_of(phantom, {kSide, kProjectedFov}), kSide, kSide);
  double apart = 0;
  double size = 0;
  auto pixel = found.begin();
  for (const double angle : geometry.angles_degrees) {
    const volume::ViewRays rays(geometry, angle, {kSide, kSide});
    for (const float wanted : volume::exact_view(phantom, rays, kProjectedFov)) {
      apart += std::pow(static_cast<double>(*pixel++) - wanted, 2);
      size += std::pow(static_cast<double>(wanted), 2);
    }
  }
  EXPECT_TRUE(pixel == found.end());
  return std::sqrt(apart / size);
}

TEST(CtProjector, AgreesWithThePhantomsOwnViews) {
  EXPECT_LT(projection_error({}, {.fov_mm = kProjectedFov}), 0.06);
  EXPECT_LT(projection_error({.projector = volume::RayMethod::kSiddon}, {.fov_mm = kProjectedFov}),
            0.11);
  const CtConfig cone{.geometry = {.angles = {0, 45, 90},
                                   .source_to_isocentre_mm = 1000,
                                   .source_to_detector_mm = 1500}};
  EXPECT_LT(projection_error(cone, {.fov_mm = kProjectedFov,
                                    .angles_degrees = {0, 45, 90},
                                    .cone = volume::ConeBeam{1000, 1500}}),
            0.06);
  EXPECT_GT(projection_error(cone, {.fov_mm = kProjectedFov, .angles_degrees = {0, 45, 90}}), 0.06)
      << "as parallel beams would be";
}

TEST(CtProjector, WaterAsLongAsTheCubeIsOneAndAirNothing) {
  const CtConfig config{.projector = volume::RayMethod::kSiddon};
  for (const float value : integrals_of(config, std::vector<float>(64, 0), 4, 4))
    EXPECT_NEAR(value, 1, 1e-6);
  for (const float hu : {-1000.0F, -2000.0F}) {
    for (const float value : integrals_of(config, std::vector<float>(64, hu), 4, 4))
      EXPECT_EQ(value, 0);
  }
}

TEST(CtProjector, FullScaleIsFixed) {
  std::vector<float> integrals{0, 0.5, 1, 2, 3};
  CtProjector({.full_scale = 2}, 4, kProjectedFov).to_intensities(integrals);
  EXPECT_THAT(integrals, ::testing::ElementsAre(0, 0.25, 0.5, 1, 1));
}

TEST(CtProjector, TheKeyHasAllThatIntegralsDependOn) {
  const auto key = [](const CtConfig& config, std::int64_t size = 4, double fov = kProjectedFov) {
    return CtProjector(config, size, fov).key();
  };
  const std::string usual = key({});
  EXPECT_NE(key({.projector = volume::RayMethod::kSiddon}), usual);
  EXPECT_NE(key({.geometry = {.angles = {0, 89}}}), usual);
  EXPECT_NE(key({}, 5), usual);
  EXPECT_NE(key({}, 4, 401), usual);
  const auto cone = [&](double source) {
    return key({.geometry = {.source_to_isocentre_mm = source, .source_to_detector_mm = 1500}});
  };
  EXPECT_NE(cone(1000), usual);
  EXPECT_NE(cone(1000), cone(1001));
  EXPECT_EQ(key({.hu_window = {0, 1}, .full_scale = 2}), usual) << "they come later";
}

TEST(CtProjector, RefusesASourceInTheCube) {
  const CtConfig config{.geometry = {.source_to_isocentre_mm = 300, .source_to_detector_mm = 1500}};
  EXPECT_THAT([&] { CtProjector(config, 4, kProjectedFov); },
              ThrowsMessage<base::ConfigError>(HasSubstr("source_to_isocentre_mm is 300")));
}

}  // namespace
}  // namespace paceline::data
