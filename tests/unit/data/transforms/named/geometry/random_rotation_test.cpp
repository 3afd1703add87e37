#include "paceline/data/transforms/named/geometry/random_rotation.h"

#include "paceline/base/error.h"
#include "unit/data/transforms/named/drawn_plan.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(RandomRotation, TakesAnyAngleOfItsRange) {
  double sum = 0;
  for (std::uint64_t position = 0; position < 2000; ++position) {
    const Plan plan =
        plan_of(RandomRotationConfig{.degrees = {10, 30}, .fill = {1, 2, 255}}, {60, 80}, position);
    const auto& step = std::get<AffineStep>(plan.at(0));
    EXPECT_EQ(step.fill, (FillColor{1, 2, 255}));
    const double angle = -std::asin(step.matrix[1]) * 180 / 3.14159265358979;
    EXPECT_GE(angle, 10);
    EXPECT_LE(angle, 30);
    sum += angle;
    // The middle stays.
    EXPECT_NEAR(step.matrix[0] * 40 + step.matrix[1] * 30 + step.matrix[2], 40, 1e-9);
  }
  EXPECT_NEAR(sum / 2000, 20, 0.5);
}

TEST(RandomRotation, MayGrowTheImageOrTurnAboutAPoint) {
  const Plan grown =
      plan_of(RandomRotationConfig{.degrees = {90, 90}, .expand = true}, {60, 81}, 0);
  EXPECT_EQ(std::get<AffineStep>(grown.at(0)).size, (ImageSize{81, 60}));
  const Plan about = plan_of(
      RandomRotationConfig{.degrees = {40, 40}, .center = std::array{7.0, 11.5}}, {60, 81}, 0);
  const auto& step = std::get<AffineStep>(about.at(0));
  EXPECT_NEAR(step.matrix[0] * 7 + step.matrix[1] * 11.5 + step.matrix[2], 7, 1e-9);
  EXPECT_EQ(step.size, (ImageSize{60, 81}));
  EXPECT_EQ(make(RandomRotationConfig{.expand = true})->fixed_size(ImageSize{8, 8}), std::nullopt);
  EXPECT_THROW(make(RandomRotationConfig{.expand = true, .center = std::array{1.0, 2.0}})->check(),
               base::ConfigError);
}

}  // namespace
}  // namespace paceline::data
