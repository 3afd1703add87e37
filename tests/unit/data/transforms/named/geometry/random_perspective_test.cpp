#include "paceline/data/transforms/named/geometry/random_perspective.h"

#include "unit/data/transforms/named/drawn_plan.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(RandomPerspective, CornersMoveInwardsWithItsProbability) {
  int changed = 0;
  double top_left_columns = 0;
  for (std::uint64_t position = 0; position < 3000; ++position) {
    const Plan plan = plan_of(RandomPerspectiveConfig{.p = 0.6}, {60, 80}, position);
    if (plan.empty()) continue;
    ++changed;
    const PerspectiveMatrix& m = std::get<PerspectiveStep>(plan[0]).matrix;
    // Where the source's top left corner comes to lie, from the inverse of the map.
    const double determinant = m[0] * m[4] - m[1] * m[3];
    const double x = (m[1] * m[5] - m[2] * m[4]) / determinant;
    const double y = (m[2] * m[3] - m[0] * m[5]) / determinant;
    EXPECT_NEAR(x, std::round(x), 1e-3);
    EXPECT_GE(x, -1e-3);
    EXPECT_LE(x, 20.001);
    EXPECT_GE(y, -1e-3);
    EXPECT_LE(y, 15.001);
    top_left_columns += x;
  }
  EXPECT_NEAR(changed, 1800, 110);
  EXPECT_NEAR(top_left_columns / changed, 10, 0.6);
}

TEST(RandomPerspective, LeavesAnImageThatIsALine) {
  EXPECT_TRUE(plan_of(RandomPerspectiveConfig{.p = 1}, {1, 80}, 0).empty());
}

}  // namespace
}  // namespace paceline::data
