#include "paceline/data/transforms/named/choice/random_order.h"

#include "paceline/data/transforms/named/color/random_invert.h"
#include "paceline/data/transforms/named/geometry/random_horizontal_flip.h"
#include "paceline/data/transforms/named/geometry/random_vertical_flip.h"
#include "unit/data/transforms/named/drawn_plan.h"

#include <map>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(RandomOrder, TakesAnyOrderEquallyOften) {
  const TransformConfig all(
      make(RandomOrderConfig{}, {RandomHorizontalFlipConfig{.p = 1},
                                 RandomVerticalFlipConfig{.p = 1}, RandomInvertConfig{.p = 1}}));
  std::map<std::vector<std::size_t>, int> counts;
  for (std::uint64_t position = 0; position < 6000; ++position) {
    std::vector<std::size_t> kinds;
    for (const Step& step : plan_of(all, {2, 2}, position)) kinds.push_back(step.index());
    ++counts[kinds];
  }
  EXPECT_EQ(counts.size(), 6u);
  for (const auto& [kinds, count] : counts) {
    EXPECT_EQ(kinds.size(), 3u);
    EXPECT_NEAR(count, 1000, 130);
  }
}

}  // namespace
}  // namespace paceline::data
