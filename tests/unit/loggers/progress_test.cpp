#include "paceline/loggers/progress.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::loggers {
namespace {

TEST(StepPace, UnknownUntilWarm) {
  StepPace pace;
  EXPECT_EQ(pace.steps_per_s(), 0);
  EXPECT_TRUE(std::isnan(pace.seconds_for(10)));
  pace.add_step(1, 100.0);
  pace.add_step(2, 130.0);  // a slow first interval must not count
  EXPECT_TRUE(std::isnan(pace.seconds_for(10)));
}

TEST(StepPace, IgnoresWarmUpAndInterruptions) {
  StepPace pace;
  double now = 0;
  pace.add_step(1, now);
  pace.add_step(2, now += 30);
  pace.add_step(3, now += 20);
  for (int step = 4; step < 20; ++step) pace.add_step(step, now += 0.5);
  EXPECT_DOUBLE_EQ(pace.steps_per_s(), 2.0);
  pace.interrupt();  // an evaluation of 100 s
  pace.add_step(20, now += 100);
  pace.add_step(21, now += 0.5);
  EXPECT_DOUBLE_EQ(pace.seconds_for(10), 5.0);
}

TEST(StepPace, FollowsAChange) {
  StepPace pace;
  double now = 0;
  for (int step = 0; step < 100; ++step) pace.add_step(step, now += 1.0);
  for (int step = 100; step < 500; ++step) pace.add_step(step, now += 2.0);
  EXPECT_NEAR(pace.steps_per_s(), 0.5, 0.001);
}

TEST(StepPace, SharesTheTimeOfStepsThatWereNotLogged) {
  StepPace pace;
  for (int step = 0; step <= 500; step += 50) pace.add_step(step, step * 0.1);
  EXPECT_NEAR(pace.steps_per_s(), 10.0, 1e-9);
}

}  // namespace
}  // namespace paceline::loggers
