#include "paceline/algorithms/ema/ema.h"

#include "paceline/base/error.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "unit/algorithms/averaging_fixture.h"
#include "unit/algorithms/stepping_run.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::algorithms {
namespace {

using config::TimeUnit;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using train::Event;

using EmaTest = AveragingFixture;

EmaConfig every(double interval, double half_life, TimeUnit unit = TimeUnit::kBatch) {
  return {.half_life = {{half_life, unit}}, .update_interval = {{interval, unit}}};
}

TEST_F(EmaTest, AveragesWeightsAndFloatingBuffers) {
  Ema ema(every(1, 1));  // half of the new weights
  fire(ema, Event::kPrepared);
  EXPECT_FALSE(ema.has_weights()) << "nothing was averaged yet";
  step(ema, 8);
  EXPECT_EQ(average(ema, "weight"), 8) << "the first step copies";
  step(ema, 4);
  EXPECT_EQ(average(ema, "weight"), 6);
  EXPECT_EQ(average(ema, "running_mean"), 60);
  step(ema, 0);
  EXPECT_EQ(average(ema, "weight"), 3);
  EXPECT_EQ(average(ema, "bias"), 0);
  EXPECT_EQ(ema.tensors(state_).size(), 4u) << "the count of batches is no average";
}

TEST_F(EmaTest, UpdatesAtItsIntervalFromItsStartOn) {
  EmaConfig config = every(2, 2);
  config.start = {0.25, TimeUnit::kFraction};  // of 12 steps
  Ema ema(config);
  fire(ema, Event::kPrepared);
  for (const double weight : {1.0, 2.0}) step(ema, weight);
  EXPECT_FALSE(ema.has_weights());
  step(ema, 3);
  EXPECT_EQ(average(ema, "weight"), 3) << "step 3 copies, though the interval is 2";
  for (const double weight : {4.0, 5.0}) step(ema, weight);
  EXPECT_EQ(average(ema, "weight"), 3.5) << "that of step 4";
}

TEST_F(EmaTest, CountsEpochs) {
  Ema ema(every(1, 1, TimeUnit::kEpoch));
  fire(ema, Event::kPrepared);
  for (const double weight : {1.0, 2.0, 3.0, 4.0, 5.0, 7.0}) step(ema, weight);
  EXPECT_EQ(average(ema, "weight"), 5) << "of the weights after steps 3 and 6";
}

// torchvision's recipe of 2021: 600 epochs of 8 x 128 samples, an update each 32 steps.
TEST_F(EmaTest, AdaptsTorchvisionsDecayToTheRun) {
  state_.clock.lengths = {
      .total_steps = 600 * 1250, .steps_per_epoch = 1250, .samples_per_step = 1024};
  Ema ema({.smoothing = 0.99998,
           .rescale = EmaRescale::kTorchvision,
           .update_interval = {{32, TimeUnit::kBatch}}});
  fire(ema, Event::kPrepared);
  step(ema, 0);
  state_.clock.step = 31;
  step(ema, 1);
  EXPECT_NEAR(average(ema), 1 - 0.998908, 1e-6);
  state_.clock.lengths.total_steps = 0;
  EXPECT_THAT([&] { fire(ema, Event::kPrepared); },
              ThrowsMessage<base::ConfigError>(HasSubstr("algorithms.ema.rescale")));
}

TEST_F(EmaTest, AWarmUpCountsFromTheCopy) {
  Ema ema({.smoothing = 0.9,
           .warmup_power = 0.5,
           .update_interval = {{1, TimeUnit::kBatch}},
           .start = {3, TimeUnit::kBatch}});
  fire(ema, Event::kPrepared);
  for (const double weight : {1.0, 1.0, 8.0}) step(ema, weight);
  EXPECT_EQ(average(ema), 8);
  EXPECT_EQ(ema.state_dict().at("first_count"), 3);
  step(ema, 4);
  EXPECT_NEAR(average(ema), 4 + 4 * (1 - std::sqrt(0.5)), 1e-6);
  Ema resumed({.smoothing = 0.9, .warmup_power = 0.5});
  resumed.load_state_dict({{"is_started", true}});  // of a checkpoint from before there was one
  EXPECT_EQ(resumed.state_dict().at("first_count"), 1);
}

TEST_F(EmaTest, SwapsExactlyAndBack) {
  Ema ema(every(1, 3));
  fire(ema, Event::kPrepared);
  for (const double weight : {0.1, 0.7, 0.3}) step(ema, weight);
  const double before = average(ema, "weight");
  ema.swap_weights(state_);
  EXPECT_EQ(norm_->weight[0].item<double>(), before);
  EXPECT_EQ(average(ema, "weight"), static_cast<double>(0.3f));
  EXPECT_LT(norm_->running_mean[0].item<double>(), 7) << "its average, and not 3";
  EXPECT_EQ(average(ema, "running_mean"), 3);
  ema.swap_weights(state_);
  EXPECT_EQ(norm_->weight[0].item<float>(), 0.3f);
  EXPECT_EQ(average(ema, "weight"), before);
}

TEST_F(EmaTest, GoesOnFromItsStateAsIfNeverStopped) {
  Ema whole(every(1, 5));
  fire(whole, Event::kPrepared);
  for (const double weight : {1.0, 2.0, 3.0}) step(whole, weight);
  Ema resumed(every(1, 5));
  fire(resumed, Event::kPrepared);
  const auto saved = whole.tensors(state_);
  const auto loaded = resumed.tensors(state_);
  for (std::size_t i = 0; i < saved.size(); ++i) loaded[i].data.copy_(saved[i].data);
  resumed.load_state_dict(whole.state_dict());
  EXPECT_TRUE(resumed.has_weights());
  step(whole, 9);
  resumed.apply(Event::kStepEnd, state_, run_);
  EXPECT_EQ(average(resumed, "weight"), average(whole, "weight"));
}

TEST(Ema, RefusesLengthsThatDoNotFit) {
  const auto refusal = [](const EmaConfig& config, const char* words) {
    EXPECT_THAT([&] { const Ema ema(config); }, ThrowsMessage<base::ConfigError>(HasSubstr(words)));
  };
  refusal({.half_life = {{2, TimeUnit::kSecond}}}, "algorithms.ema.half_life is 2s");
  refusal({.half_life = {{1.5, TimeUnit::kBatch}}}, "a whole number of batches or epochs");
  refusal({.half_life = {{0, TimeUnit::kBatch}}}, "half_life is 0ba");
  refusal({.half_life = {{10, TimeUnit::kBatch}}, .update_interval = {{1, TimeUnit::kEpoch}}},
          "count both in ba, or both in ep");
  refusal({.smoothing = 0.9, .update_interval = {{0.5, TimeUnit::kFraction}}}, "update_interval");
}

/// Which asks the optimizer in so many steps, and has the same bits as one that asks nobody.
void expect_moved_with_steps(const EmaConfig& config, int num_asked) {
  const SteppingRun joined(make(config), /*meets_others=*/true);
  const SteppingRun apart(make(config), /*meets_others=*/false);
  EXPECT_EQ(joined.num_asked(), num_asked);
  EXPECT_EQ(apart.num_asked(), 0);
  EXPECT_TRUE(joined.equals(apart));
}

TEST(EmaInTheOptimizersPass, HasTheBitsOfOneAfterIt) {
  expect_moved_with_steps(every(1, 3), 11);  // all but the copy
  EmaConfig config = every(2, 4);
  config.start = {0.25, TimeUnit::kFraction};
  expect_moved_with_steps(config, 5);  // steps 4, 6, 8, 10, 12
  expect_moved_with_steps({.smoothing = 0.9, .warmup_power = 0.5}, 11);
  expect_moved_with_steps(every(1, 1, TimeUnit::kEpoch), 0);
}

TEST(EmaInTheOptimizersPass, IsNotWhereAnotherMayWriteWeightsAfterIt) {
  const SteppingRun run(make(every(1, 3)), /*meets_others=*/true, /*has_writer=*/true);
  EXPECT_EQ(run.num_asked(), 0);
}

}  // namespace
}  // namespace paceline::algorithms
