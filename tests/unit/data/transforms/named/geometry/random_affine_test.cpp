#include "paceline/data/transforms/named/geometry/random_affine.h"

#include "unit/data/transforms/named/drawn_plan.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(RandomAffine, KeepsToItsRanges) {
  const RandomAffineConfig config = {.translate = {0.1, 0.25},
                                     .scale = {0.5, 2.0},
                                     .interpolation = AffineInterpolation::kBilinear};
  double highest = 0;
  double farthest = 0;
  for (std::uint64_t position = 0; position < 2000; ++position) {
    const auto step = std::get<AffineStep>(plan_of(config, {80, 60}, position).at(0));
    EXPECT_EQ(step.interpolation, AffineInterpolation::kBilinear);
    const double scale = 1 / step.matrix[0];
    EXPECT_GE(scale, 0.5 - 1e-9);
    EXPECT_LE(scale, 2.0 + 1e-9);
    highest = std::max(highest, scale);
    // Where the middle of the result comes from tells the translation: whole pixels, at most 6, 20.
    const double right = (30 - (step.matrix[0] * 30 + step.matrix[2])) * scale;
    const double down = (40 - (step.matrix[4] * 40 + step.matrix[5])) * scale;
    EXPECT_NEAR(right, std::round(right), 1e-9);
    EXPECT_LE(std::abs(right), 6 + 1e-9);
    EXPECT_LE(std::abs(down), 20 + 1e-9);
    farthest = std::max(farthest, std::abs(down));
  }
  EXPECT_GT(highest, 1.95);
  EXPECT_NEAR(farthest, 20, 1e-9);
  const auto sheared = std::get<AffineStep>(
      plan_of(RandomAffineConfig{.shear_x = {45, 45}, .shear_y = {0, 0}}, {80, 60}, 0).at(0));
  EXPECT_NEAR(sheared.matrix[1], 1.0, 1e-9);
}

}  // namespace
}  // namespace paceline::data
