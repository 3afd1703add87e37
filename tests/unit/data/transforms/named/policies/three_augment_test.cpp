#include "paceline/data/transforms/named/policies/three_augment.h"

#include "support/data/chi_square.h"
#include "unit/data/transforms/named/drawn_plan.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(ThreeAugment, TakesOneOfThreeThenChangesColours) {
  std::array<int, 3> counts = {};
  double sigmas = 0;
  for (std::uint64_t position = 0; position < 6000; ++position) {
    const Plan plan = plan_of(ThreeAugmentConfig{}, {8, 8}, position);
    ASSERT_EQ(plan.size(), 4u);
    if (const auto* grey = std::get_if<SaturationStep>(&plan[0])) {
      EXPECT_EQ(grey->factor, 0);
      ++counts[0];
    } else if (const auto* solarised = std::get_if<SolarizeStep>(&plan[0])) {
      EXPECT_EQ(solarised->threshold, 128);
      ++counts[1];
    } else {
      sigmas += std::get<BoxBlurStep>(plan[0]).radius;
      ++counts[2];
    }
  }
  EXPECT_LT(chi_square_deviations(counts, std::vector<double>(3, 1.0)), 4);
  EXPECT_NEAR(sigmas / counts[2], 1.05, 0.06);
  EXPECT_EQ(plan_of(ThreeAugmentConfig{.jitter = 0}, {8, 8}, 0).size(), 1u);
}

}  // namespace
}  // namespace paceline::data
