#include "paceline/metrics/meters.h"

#include <chrono>

#include <gtest/gtest.h>

namespace paceline::metrics {
namespace {

TEST(ThroughputMeter, NothingBeforeTwoSteps) {
  ThroughputMeter meter;
  EXPECT_EQ(meter.samples_per_s(), 0);
  meter.add_step(1.0, 32);
  EXPECT_EQ(meter.samples_per_s(), 0);
  EXPECT_EQ(meter.steps_per_s(), 0);
  meter.add_step(1.0, 32);  // a clock that did not move
  EXPECT_EQ(meter.samples_per_s(), 0);
}

TEST(ThroughputMeter, OnlyTheWindowCounts) {
  ThroughputMeter meter(/*window=*/4);
  double now = 0;
  for (int step = 0; step < 10; ++step) meter.add_step(now += 10.0, 32);  // slow, long ago
  for (int step = 0; step < 4; ++step) meter.add_step(now += 0.5, 32);
  EXPECT_DOUBLE_EQ(meter.samples_per_s(), 64.0);
  EXPECT_DOUBLE_EQ(meter.steps_per_s(), 2.0);
}

TEST(ThroughputMeter, WindowThatIsNotFull) {
  ThroughputMeter meter(/*window=*/4);
  meter.add_step(0, 8);
  for (int step = 1; step < 5; ++step) {
    meter.add_step(step * 0.25, 8);
    EXPECT_DOUBLE_EQ(meter.steps_per_s(), 4.0) << step;
    EXPECT_DOUBLE_EQ(meter.samples_per_s(), 32.0) << step;
  }
}

TEST(ThroughputMeter, ExcludedTimeDoesNotCount) {
  ThroughputMeter meter;
  meter.add_step(0.0, 10);
  meter.add_step(1.0, 10);
  meter.exclude(100.0);  // an evaluation
  meter.add_step(102.0, 10);
  EXPECT_DOUBLE_EQ(meter.samples_per_s(), 10.0);
}

TEST(PhaseTimer, EveryMomentBelongsToOnePhase) {
  PhaseTimer timer;
  const auto begin = PhaseTimer::Clock::now();
  timer.start();
  for (int step = 0; step < 100; ++step) {
    timer.mark(Phase::kDataWait);
    timer.mark(Phase::kForward);
    timer.mark(Phase::kBackward);
  }
  const double whole_s = std::chrono::duration<double>(PhaseTimer::Clock::now() - begin).count();
  const double sum_s = timer.seconds(Phase::kDataWait) + timer.seconds(Phase::kForward) +
                       timer.seconds(Phase::kBackward);
  EXPECT_GT(sum_s, 0);
  EXPECT_LE(sum_s, whole_s + 1e-12);
  EXPECT_EQ(timer.seconds(Phase::kOptimizer), 0);

  const double before_s = timer.seconds(Phase::kBackward);
  timer.move(Phase::kBackward, Phase::kExposedCommunication, before_s / 2);
  EXPECT_DOUBLE_EQ(timer.seconds(Phase::kExposedCommunication), before_s / 2);
  EXPECT_DOUBLE_EQ(timer.seconds(Phase::kBackward), before_s / 2);
  timer.reset();
  EXPECT_EQ(timer.seconds(Phase::kBackward), 0);
}

}  // namespace
}  // namespace paceline::metrics
