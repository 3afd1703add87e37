#include "paceline/volume/projection_geometry.h"

#include "paceline/base/error.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::volume {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

auto near(double x, double y, double z) {
  return ElementsAre(DoubleNear(x, 1e-12), DoubleNear(y, 1e-12), DoubleNear(z, 1e-12));
}

TEST(ViewRays, FrontalShowsThePatientFromTheFront) {
  const ViewRays rays({.fov_mm = 100}, 0, {4, 2});
  EXPECT_THAT(rays.at(0, 0).direction, near(0, -1, 0)) << "from the front to the back";
  EXPECT_THAT(rays.at(0, 0).start, near(25, 0, 37.5)) << "above, and the patient's right";
  EXPECT_THAT(rays.at(3, 1).start, near(-25, 0, -37.5));
}

TEST(ViewRays, LateralShowsTheFrontOnTheLeft) {
  const ViewRays rays({.fov_mm = 100}, 90, {2, 2});
  EXPECT_THAT(rays.at(0, 0).direction, near(1, 0, 0)) << "from the left to the right";
  EXPECT_THAT(rays.at(0, 0).start, near(0, 25, 25));
}

TEST(ViewRays, AnglesInBetweenTurnAroundTheBody) {
  const double root = std::sqrt(0.5);
  const ViewRays rays({.fov_mm = 100}, 45, {1, 2});
  EXPECT_THAT(rays.at(0, 0).direction, near(root, -root, 0));
  EXPECT_THAT(rays.at(0, 0).start, near(25 * root, 25 * root, 0));
  EXPECT_THAT(ViewRays({.fov_mm = 100}, -270, {1, 2}).at(0, 0).direction, near(1, 0, 0));
}

TEST(ViewRays, AConeSeesThePlaneThroughTheIsocentreAsParallelBeamsDo) {
  const ProjectionGeometry cone{.fov_mm = 100, .cone = ConeBeam{300, 450}};
  for (const double angle : {0.0, 30.0, 90.0}) {
    const Ray flat = ViewRays({.fov_mm = 100}, angle, {3, 5}).at(2, 4);
    const Ray ray = ViewRays(cone, angle, {3, 5}).at(2, 4);
    const double to_plane = std::sqrt(300 * 300 + 40 * 40 + 100.0 * 100 / 9);
    Vector met{};
    for (std::size_t i = 0; i < 3; ++i)
      met.at(i) = ray.start.at(i) + to_plane * ray.direction.at(i);
    EXPECT_THAT(met, near(flat.start[0], flat.start[1], flat.start[2]));
  }
}

TEST(ViewRays, RefuseConesThatPassNoPatient) {
  const auto refusal = [](const ConeBeam& cone, const char* words) {
    EXPECT_THAT(
        [&] {
          ViewRays({.fov_mm = 400, .cone = cone}, 0, {2, 2});
        },
        ThrowsMessage<base::ConfigError>(HasSubstr(words)));
  };
  refusal({340, 500}, "source_to_isocentre_mm is 340, but the cube of 400 mm reaches 346.4 mm");
  refusal({600, 600}, "source_to_detector_mm is 600, and must be more");
}

}  // namespace
}  // namespace paceline::volume
