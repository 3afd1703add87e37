#include "paceline/data/transforms/named/color/random_adjust_sharpness.h"

#include "unit/data/transforms/named/drawn_plan.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(RandomAdjustSharpness, ActsWithItsProbability) {
  int changed = 0;
  for (std::uint64_t position = 0; position < 4000; ++position) {
    for (const Step& step : plan_of(RandomAdjustSharpnessConfig{.p = 0.25}, {2, 2}, position)) {
      EXPECT_EQ(std::get<SharpnessStep>(step).factor, 2.0f);
      ++changed;
    }
  }
  EXPECT_NEAR(changed, 1000, 110);
}

}  // namespace
}  // namespace paceline::data
