#include "paceline/data/transforms/named/color/color_jitter.h"

#include "unit/data/transforms/named/drawn_plan.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

/// For strengths of 0.4, 1.5, 0.2 and 0.1.
void check_range(const Step& step) {
  if (const auto* brightness = std::get_if<BrightnessStep>(&step)) {
    EXPECT_TRUE(brightness->factor >= 0.6f && brightness->factor <= 1.4f) << brightness->factor;
  } else if (const auto* contrast = std::get_if<ContrastStep>(&step)) {
    EXPECT_TRUE(contrast->factor >= 0.0f && contrast->factor <= 2.5f) << contrast->factor;
  } else if (const auto* saturation = std::get_if<SaturationStep>(&step)) {
    EXPECT_TRUE(saturation->factor >= 0.8f && saturation->factor <= 1.2f) << saturation->factor;
  } else {
    const double turn = std::get<HueStep>(step).turn;
    EXPECT_TRUE(turn >= -0.1 && turn <= 0.1) << turn;
  }
}

TEST(ColorJitter, TakesAllOrdersAndRanges) {
  const ColorJitterConfig config = {
      .brightness = 0.4, .contrast = 1.5, .saturation = 0.2, .hue = 0.1};
  std::map<std::string, int> orders;
  for (std::uint64_t position = 0; position < 4800; ++position) {
    std::string order;
    for (const Step& step : plan_of(config, {2, 2}, position)) {
      order += static_cast<char>('0' + step.index());
      check_range(step);
    }
    ++orders[order];
  }
  EXPECT_EQ(orders.size(), 24u);
  for (const auto& [order, count] : orders) EXPECT_NEAR(count, 200, 75) << order;
}

TEST(ColorJitter, LeavesOutWhatIsZero) {
  const Plan plan = plan_of(ColorJitterConfig{.saturation = 0.5}, {2, 2}, 3);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<SaturationStep>(plan[0]));
  EXPECT_TRUE(plan_of(ColorJitterConfig{}, {2, 2}, 3).empty());
}

}  // namespace
}  // namespace paceline::data
