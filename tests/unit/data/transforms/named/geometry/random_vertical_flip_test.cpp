#include "paceline/data/transforms/named/geometry/random_vertical_flip.h"

#include "unit/data/transforms/named/drawn_plan.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(RandomVerticalFlip, MirrorsRowsWithItsProbability) {
  int flips = 0;
  for (std::uint64_t position = 0; position < 4000; ++position)
    flips += static_cast<int>(plan_of(RandomVerticalFlipConfig{}, {2, 2}, position).size());
  EXPECT_NEAR(flips, 2000, 120);
}

}  // namespace
}  // namespace paceline::data
