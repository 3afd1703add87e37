#include "paceline/train/monitor.h"

#include <array>

#include <gtest/gtest.h>

namespace paceline::train {
namespace {

const std::array kDiceFirst{Metric{"dice", 0}, Metric{"accuracy", 1}};

TEST(Monitor, WithoutANameItIsTheTasksFirstMetricOrTheLoss) {
  EXPECT_EQ(monitor_of({}, {}, kDiceFirst), (Monitor{"val/dice", MonitorMode::kMax}));
  EXPECT_EQ(monitor_of({}, {}, {}), (Monitor{"val/loss", MonitorMode::kMin}));
}

TEST(Monitor, LessOfALossIsBetterUnlessTheRecipeSaysOtherwise) {
  EXPECT_EQ(monitor_of("val/loss", {}, kDiceFirst).mode, MonitorMode::kMin);
  EXPECT_EQ(monitor_of("val_ema/loss", {}, kDiceFirst).mode, MonitorMode::kMin);
  EXPECT_EQ(monitor_of("val/loss_p99.5", {}, kDiceFirst).mode, MonitorMode::kMin);
  EXPECT_EQ(monitor_of("val_ema/ece", {}, kDiceFirst).mode, MonitorMode::kMin);
  EXPECT_EQ(monitor_of("val/loss_part", {}, kDiceFirst).mode, MonitorMode::kMax);
  EXPECT_EQ(monitor_of("val/accuracy", {}, kDiceFirst).mode, MonitorMode::kMax);
  EXPECT_TRUE(wrong_mode("val/ece", MonitorMode::kMax).has_value());
  EXPECT_EQ(monitor_of({}, MonitorMode::kMin, kDiceFirst),
            (Monitor{"val/dice", MonitorMode::kMin}));
}

TEST(Monitor, ASectionIsFilledInOnce) {
  CheckpointConfig config;
  set_monitor(config, kDiceFirst);
  EXPECT_EQ(config.monitor, "val/dice");
  set_monitor(config, {});
  EXPECT_EQ(config.monitor, "val/dice");
  EXPECT_EQ(config.mode, MonitorMode::kMax);
}

}  // namespace
}  // namespace paceline::train
