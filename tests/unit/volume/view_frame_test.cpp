#include "paceline/volume/view_frame.h"

#include "paceline/base/error.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::volume {
namespace {

TEST(ViewFrame, PlacesOnARayAreSeenAtItsPixel) {
  const DetectorGrid detector{5, 4};
  const ProjectionGeometry parallel{.fov_mm = 90};
  ProjectionGeometry cone = parallel;
  cone.cone = ConeBeam{100, 150};
  for (const ProjectionGeometry& geometry : {parallel, cone}) {
    for (const double angle : {0.0, 90.0, 180.0, 270.0, 25.0, -140.0}) {
      const ViewFrame frame = view_frame(geometry, angle);
      const ViewRays rays(geometry, angle, detector);
      for (int row = 0; row < detector.rows; ++row) {
        for (int column = 0; column < detector.columns; ++column) {
          const Ray ray = rays.at(row, column);
          for (const double t : {20.0, 73.0, 120.0}) {
            Vector place;
            for (std::size_t i = 0; i < 3; ++i)
              place[i] = (ray.start[i] + t * ray.direction[i]) / 45;
            const Vector seen = seen_at(frame, place);
            EXPECT_NEAR(seen[0], (2.0 * column + 1) / detector.columns - 1, 1e-12) << angle;
            EXPECT_NEAR(seen[1], (2.0 * row + 1) / detector.rows - 1, 1e-12) << angle;
          }
        }
      }
    }
  }
}

TEST(ViewFrame, DepthGrowsAwayFromTheSource) {
  const ProjectionGeometry geometry{.fov_mm = 90};
  // The source of the frontal view is in front of the patient, of the lateral one at their left.
  EXPECT_EQ(seen_at(view_frame(geometry, 0), {0, 1, 0})[2], -1);
  EXPECT_EQ(seen_at(view_frame(geometry, 0), {0, -0.5, 0})[2], 0.5);
  EXPECT_EQ(seen_at(view_frame(geometry, 90), {-1, 0, 0})[2], -1);
  // Turned, the cube's edge is as far away as can be.
  EXPECT_NEAR(seen_at(view_frame(geometry, 45), {1, -1, 0})[2], 1, 1e-12);
}

TEST(ViewFrame, OnlyParallelBeamsAtRightAnglesFollowAxes) {
  ProjectionGeometry geometry{.fov_mm = 123.4};
  for (const double angle : {0.0, 90.0, 180.0, 270.0, -90.0, 360.0})
    EXPECT_TRUE(view_frame(geometry, angle).is_along_axes()) << angle;
  for (const double angle : {1.0, 45.0, 89.9})
    EXPECT_FALSE(view_frame(geometry, angle).is_along_axes()) << angle;
  geometry.cone = ConeBeam{};
  EXPECT_FALSE(view_frame(geometry, 0).is_along_axes());
  geometry.cone = ConeBeam{50, 100};
  EXPECT_THROW(view_frame(geometry, 0), base::ConfigError);
}

}  // namespace
}  // namespace paceline::volume
