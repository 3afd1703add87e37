#include "paceline/train/stop_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using config::TimeUnit;
using Reason = FitResult::Reason;

constexpr config::StepLengths kLengths{
    .total_steps = 20, .steps_per_epoch = 5, .samples_per_step = 4};

TrainerConfig lasting(double value, TimeUnit unit) {
  TrainerConfig config;
  config.duration = {{{value, unit}}};
  return config;
}

Clock at_step(std::int64_t step, double elapsed_s = 0) {
  Clock clock;
  clock.step = step;
  clock.elapsed_s = elapsed_s;
  return clock;
}

/// What ends a run after so many steps, if anything does.
std::optional<FitResult> after(const StopRule& rule, std::int64_t step, double top1 = 0,
                               const std::optional<std::string>& asked = std::nullopt) {
  TrainState state;
  state.clock.step = step;
  state.last_eval = {{"val/top1", top1}};
  return rule.at_safe_point(state, asked);
}

TEST(StopRule, EndsARunAfterItsDuration) {
  const StopRule rule(lasting(2, TimeUnit::kEpoch), kLengths);
  EXPECT_EQ(rule.last_step(), 10);
  EXPECT_FALSE(after(rule, 9));
  ASSERT_TRUE(after(rule, 10));
  EXPECT_EQ(after(rule, 10)->reason, Reason::kDuration);
  EXPECT_TRUE(rule.at_start(at_step(10)));
  EXPECT_FALSE(rule.at_start(at_step(9)));
}

TEST(StopRule, AConditionAndACallbackWaitForTheLeastDuration) {
  TrainerConfig config = lasting(10, TimeUnit::kBatch);
  config.stop_when = "val/top1 >= 0.5";
  config.min_duration = {4, TimeUnit::kBatch};
  const StopRule rule(config, kLengths);
  EXPECT_FALSE(after(rule, 3, 0.9, "enough"));
  EXPECT_EQ(after(rule, 4, 0.9)->reason, Reason::kCondition);
  EXPECT_EQ(after(rule, 4, 0.1, "enough")->reason, Reason::kCallback);
  EXPECT_EQ(after(rule, 4, 0.1, "enough")->text, "enough");
  EXPECT_EQ(after(rule, 10, 0.9)->reason, Reason::kCondition) << "which says more";
}

TEST(StopRule, TimeIsThatOfAllStarts) {
  StopRule rule(lasting(3600, TimeUnit::kSecond), kLengths);
  rule.start(at_step(2, 3599));
  EXPECT_FALSE(rule.is_past_wall_clock());
  rule.start(at_step(2, 3600));
  EXPECT_TRUE(rule.is_past_wall_clock());
  EXPECT_EQ(rule.at_start(at_step(2))->reason, Reason::kWallClock);
  EXPECT_FALSE(rule.at_start(at_step(0))) << "a first step is always made";
}

}  // namespace
}  // namespace paceline::train
