#include "paceline/optim/schedules.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::optim {
namespace {

using config::TimeUnit;

constexpr RunLength kRun{.total_steps = 100, .steps_per_epoch = 10, .samples_per_step = 32};

TEST(Schedules, StartAndEndAreWhatTheConfigSays) {
  const auto cosine =
      make(CosineConfig{.warmup = {1, TimeUnit::kEpoch}, .final_lr_ratio = 0.1}, kRun);
  EXPECT_DOUBLE_EQ(cosine->factor(0), 0.01);
  EXPECT_DOUBLE_EQ(cosine->factor(10), 1.0);
  EXPECT_DOUBLE_EQ(cosine->factor(55), 0.55);
  EXPECT_DOUBLE_EQ(cosine->factor(100), 0.1);
  EXPECT_DOUBLE_EQ(cosine->factor(1000), 0.1);
  const auto cycle = make(OneCycleConfig{}, kRun);
  EXPECT_NEAR(cycle->factor(0), 1.0 / 25, 1e-15);
  EXPECT_DOUBLE_EQ(cycle->factor(29), 1.0);
  EXPECT_NEAR(cycle->factor(99), 1.0 / 25 / 1e4, 1e-15);
  EXPECT_DOUBLE_EQ(cycle->factor(500), cycle->factor(99));
}

TEST(Schedules, WarmUpsRiseAsTheirShapeSays) {
  ConstantConfig config{.warmup = {1, TimeUnit::kEpoch}, .warmup_start_factor = 0.01};
  EXPECT_DOUBLE_EQ(make(config, kRun)->factor(5), 0.505);
  config.warmup_shape = WarmupShape::kExponential;
  EXPECT_DOUBLE_EQ(make(config, kRun)->factor(0), 0.01);
  EXPECT_DOUBLE_EQ(make(config, kRun)->factor(5), 0.1);
  EXPECT_DOUBLE_EQ(make(config, kRun)->factor(10), 1.0);
  config.warmup_shape = WarmupShape::kConstant;
  EXPECT_DOUBLE_EQ(make(config, kRun)->factor(9), 0.01);
  EXPECT_DOUBLE_EQ(make(config, kRun)->factor(10), 1.0);
}

TEST(Schedules, ARateThatMovesOnceAnEpochStaysInBetween) {
  const StepConfig halves{.moves = RateMoves::kEpoch, .every = {5, TimeUnit::kBatch}, .gamma = 0.5};
  const auto held = make(halves, kRun);
  EXPECT_DOUBLE_EQ(held->factor(9), 1.0);
  EXPECT_DOUBLE_EQ(held->factor(10), 0.25);
  EXPECT_DOUBLE_EQ(held->factor(19), 0.25);
  const LinearConfig line{
      .warmup = {2, TimeUnit::kEpoch}, .warmup_start_factor = 0, .moves = RateMoves::kEpoch};
  EXPECT_DOUBLE_EQ(make(line, kRun)->factor(19), 0.5) << "the warm-up too";
  const auto endless =
      make(ConstantConfig{.warmup = {3, TimeUnit::kBatch}, .moves = RateMoves::kEpoch}, {});
  EXPECT_DOUBLE_EQ(endless->factor(3), 1.0);
}

TEST(Schedules, ACosineFromTheStartIsAlreadyLowerBehindTheWarmUp) {
  CosineConfig config{.warmup = {5, TimeUnit::kEpoch}};
  EXPECT_DOUBLE_EQ(make(config, kRun)->factor(50), 1.0);
  config.from_start = true;
  EXPECT_DOUBLE_EQ(make(config, kRun)->factor(50), 0.5);
  EXPECT_DOUBLE_EQ(make(config, kRun)->factor(0), 0.01) << "the warm-up stays as it is";
}

TEST(Schedules, TheInverseRootNeedsNeitherWarmUpNorLength) {
  const auto root = make(InverseSqrtConfig{}, RunLength{});
  EXPECT_DOUBLE_EQ(root->factor(0), 1.0);
  EXPECT_DOUBLE_EQ(root->factor(30'000), 0.5);
}

TEST(Schedules, CyclesOfAnyLengthEndWithTheRun) {
  const auto cycles =
      make(CosineConfig{.cycle = config::Duration{7, TimeUnit::kBatch}, .cycle_mul = 1.5}, kRun);
  EXPECT_DOUBLE_EQ(cycles->factor(7), 1.0);
  EXPECT_LT(cycles->factor(17), 0.05) << "the last whole step of a cycle of 10.5";
  EXPECT_GT(cycles->factor(18), 0.9);
  EXPECT_DOUBLE_EQ(cycles->factor(100), 0.0);
}

TEST(Schedules, DropsCountFromTheStartOfTraining) {
  const auto steps =
      make(StepConfig{.warmup = {5, TimeUnit::kEpoch}, .every = {3, TimeUnit::kEpoch}}, kRun);
  EXPECT_DOUBLE_EQ(steps->factor(60), 0.01);
  const auto milestones = make(
      MultiStepConfig{.milestones = {{0.8, TimeUnit::kFraction}, {5, TimeUnit::kEpoch}}}, kRun);
  EXPECT_DOUBLE_EQ(milestones->factor(49), 1.0);
  EXPECT_DOUBLE_EQ(milestones->factor(50), 0.1);
  EXPECT_NEAR(milestones->factor(80), 0.01, 1e-17);
}

TEST(Schedules, RefuseWhatCannotBe) {
  using testing::HasSubstr;
  using testing::ThrowsMessage;
  EXPECT_THAT(
      [] {
        make(CosineConfig{.warmup = {11, TimeUnit::kEpoch}}, kRun);
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("110 optimizer steps, but the run has 100")));
  EXPECT_THAT([] { make(CosineConfig{}, RunLength{}); },
              ThrowsMessage<base::ConfigError>(HasSubstr("needs the length of the run")));
  EXPECT_THAT(
      [] {
        make(OneCycleConfig{.warmup = {1, TimeUnit::kBatch}}, kRun);
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("at least 2 optimizer steps")));
  EXPECT_THROW(make(StepConfig{.every = {60, TimeUnit::kSecond}}, kRun), base::ConfigError);
  EXPECT_THAT([] { make(CosineConfig{.cycle_mul = 2}, kRun); },
              ThrowsMessage<base::ConfigError>(HasSubstr("say how long the first is")));
  EXPECT_THAT(
      [] {
        make(LinearConfig{.warmup = {1, TimeUnit::kEpoch},
                          .warmup_start_factor = 0,
                          .warmup_shape = WarmupShape::kExponential},
             kRun);
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("never leaves 0")));
}

}  // namespace
}  // namespace paceline::optim
