#include "paceline/data/transforms/named/color/random_grayscale.h"

#include "unit/data/transforms/named/drawn_plan.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(RandomGrayscale, DrainsColourWithItsProbability) {
  int greys = 0;
  for (std::uint64_t position = 0; position < 4000; ++position) {
    for (const Step& step : plan_of(RandomGrayscaleConfig{}, {2, 2}, position)) {
      EXPECT_EQ(std::get<SaturationStep>(step).factor, 0.0f);
      ++greys;
    }
  }
  EXPECT_NEAR(greys, 400, 80);
}

}  // namespace
}  // namespace paceline::data
