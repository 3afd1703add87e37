#include "paceline/data/transforms/named/color/random_equalize.h"

#include "unit/data/transforms/named/drawn_plan.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(RandomEqualize, ActsWithItsProbability) {
  int changed = 0;
  for (std::uint64_t position = 0; position < 4000; ++position) {
    for (const Step& step : plan_of(RandomEqualizeConfig{.p = 0.25}, {2, 2}, position)) {
      EXPECT_TRUE(std::holds_alternative<EqualizeStep>(step));
      ++changed;
    }
  }
  EXPECT_NEAR(changed, 1000, 110);
}

}  // namespace
}  // namespace paceline::data
