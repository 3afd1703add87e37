#include "paceline/data/transforms/named/geometry/random_horizontal_flip.h"

#include "unit/data/transforms/named/drawn_plan.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(RandomHorizontalFlip, FlipsWithItsProbability) {
  int flips = 0;
  for (std::uint64_t position = 0; position < 4000; ++position) {
    flips +=
        static_cast<int>(plan_of(RandomHorizontalFlipConfig{.p = 0.3}, {2, 2}, position).size());
  }
  EXPECT_NEAR(flips, 1200, 100);
  EXPECT_TRUE(plan_of(RandomHorizontalFlipConfig{.p = 0.0}, {2, 2}, 0).empty());
  EXPECT_EQ(plan_of(RandomHorizontalFlipConfig{.p = 1.0}, {2, 2}, 0).size(), 1u);
}

}  // namespace
}  // namespace paceline::data
