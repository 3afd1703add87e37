#include "paceline/train/step_log.h"

#include "paceline/base/log.h"
#include "paceline/train/evaluator.h"
#include "support/queued_device.h"
#include "unit/train/scripted_run.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;

class StepLogTest : public ::testing::Test {
 protected:
  StepLogTest() {
    state_.clock.step = 6;
    state_.clock.samples = 21;
    state_.clock.lengths.steps_per_epoch = 4;
    state_.step_totals = {.loss_sum = 6, .samples = 4, .sums = {3}};
    state_.lr = 0.25;
    state_.skipped.of_run = 5;
    state_.grad_norm = std::numeric_limits<double>::quiet_NaN();
  }

  paceline::test::RecordingSink sink_;
  metrics::MetricSink* sinks_[1] = {&sink_};
  std::array<Metric, 1> metrics_{Metric{"top1", 0}};
  TrainState state_;
  StepLog log_{sinks_, metrics_};
};

TEST_F(StepLogTest, LogsMeansOverTheGlobalBatch) {
  log_.log_step(state_, 1.0);
  const auto& [at, values] = sink_.steps.back();
  EXPECT_EQ(at.step, 6);
  EXPECT_EQ(at.epoch, 1);
  EXPECT_EQ(at.samples, 21);
  EXPECT_THAT(values, IsSupersetOf({Pair("train/loss", 1.5), Pair("train/top1", 0.75),
                                    Pair("train/lr", 0.25), Pair("data/skipped", 5.0)}));
  EXPECT_FALSE(values.contains("train/grad_norm")) << "it was not measured";
  state_.grad_norm = 3;
  log_.log_step(state_, 2.0);
  EXPECT_EQ(sink_.steps.back().second.at("train/grad_norm"), 3);
}

TEST_F(StepLogTest, HandsOverThePicturesOfAnEvaluation) {
  EvalResult result{.prefix = "val", .values = {{"val/loss", 1}}};
  result.pictures = {{"val/slices", 1, 1, {1, 2, 3}}};
  EvalResult other{.prefix = "val_ema", .values = {}};
  other.pictures = {{"val_ema/slices", 1, 1, {4, 5, 6}}};
  log_.log_evaluation(state_, result.with(other), 0);
  ASSERT_EQ(sink_.pictures.size(), 2u);
  EXPECT_EQ(sink_.pictures[0].first.step, 6);
  EXPECT_EQ(sink_.pictures[0].second.name, "val/slices");
  EXPECT_EQ(sink_.pictures[1].second.name, "val_ema/slices");
  EXPECT_EQ(sink_.pictures[1].second.pixels, (std::vector<std::uint8_t>{4, 5, 6}));
  EXPECT_TRUE(result.of_weights("ema").pictures.empty()) << "they would be shown twice";
}

TEST_F(StepLogTest, LogsWhatCallbacksHaveForARow) {
  const std::array more{metrics::MetricValue{"watcher/calls", 3}};
  log_.log_step(state_, 1.0, more);
  EXPECT_EQ(sink_.steps.back().second.at("watcher/calls"), 3);
  EvalResult result;
  result.prefix = "val";
  log_.log_evaluation(state_, result, 0, more);
  EXPECT_EQ(sink_.events.back().second.at("watcher/calls"), 3);
}

TEST_F(StepLogTest, LogsScalarsByTheirNames) {
  StepLog log(sinks_, metrics_, tensor::cpu_device(), {"mixup/lambda"});
  state_.step_totals.scalars = {0.875};
  log.log_step(state_, 1.0);
  EXPECT_EQ(sink_.steps.back().second.at("mixup/lambda"), 0.875);
}

TEST_F(StepLogTest, TimeForEvaluationIsNotTimeForTraining) {
  state_.batch.fields.set(kImages, at::zeros({1, 3, 1, 1}));
  log_.log_step(state_, 10.0);
  log_.log_evaluation(
      state_,
      {.prefix = "val", .values = {{"val/loss", 0.5}}, .samples = 3, .skipped = 1, .seconds = 8.0},
      0.25);
  log_.log_step(state_, 20.0);  // 2 s of training
  EXPECT_EQ(sink_.steps.back().second.at("throughput/images_per_s"), 2.0);
  EXPECT_EQ(sink_.event_name, "eval");
  EXPECT_THAT(sink_.events.back().second,
              ::testing::ElementsAre(Pair("time/data_wait_share", 0.25), Pair("time/eval_s", 8.0),
                                     Pair("val/loss", 0.5), Pair("val/samples", 3.0),
                                     Pair("val/skipped", 1.0)));
}

TEST_F(StepLogTest, SamplesThatAreNoImagesAreCalledSamples) {
  state_.batch.fields = {{"volume", at::zeros({1, 1, 4, 4, 4})}};
  log_.log_step(state_, 10.0);
  log_.log_step(state_, 20.0);
  EXPECT_TRUE(sink_.steps.back().second.contains("throughput/samples_per_s"));
  EXPECT_FALSE(sink_.steps.back().second.contains("throughput/images_per_s"));
}

TEST_F(StepLogTest, DescribesTheFirstBatchAndWarnsOfPixelsThatAreNotNormalised) {
  std::string warnings;
  const base::LogRedirection redirection(
      [&](base::LogLevel, std::string_view line) { warnings += line; });
  state_.batch.size = 2;
  state_.batch.fields.set(kImages, at::tensor({-1.0, 1.0}).view({2, 1, 1, 1}).expand({2, 3, 4, 4}));
  log_.describe_input(state_);
  EXPECT_THAT(sink_.text, HasSubstr("channel 2 mean 0.000 deviation 1.000"));
  EXPECT_THAT(warnings, IsEmpty());

  state_.batch.fields.set(kImages, state_.batch.fields.at(kImages) * 127.5 + 127.5);
  log_.describe_input(state_);
  EXPECT_THAT(sink_.text, HasSubstr("channel 0 mean 127.500 deviation 127.500"));
  EXPECT_THAT(warnings, AllOf(HasSubstr("data.train_transforms"), HasSubstr("normalize")));
}

TEST_F(StepLogTest, TellsOfTheMemoryOfADevice) {
  paceline::test::QueuedDevice device;
  StepLog log(sinks_, metrics_, device);
  log.log_step(state_, 1.0);
  EXPECT_THAT(sink_.steps.back().second, IsSupersetOf({Pair("memory/allocated_bytes", 1000.0),
                                                       Pair("memory/peak_allocated_bytes", 3000.0),
                                                       Pair("memory/reserved_bytes", 4000.0)}));
  log_.log_step(state_, 2.0);
  EXPECT_FALSE(sink_.steps.back().second.contains("memory/reserved_bytes"));
}

TEST_F(StepLogTest, DescribesTheSumsOfGradients) {
  paceline::test::Calls calls;
  auto strategy = std::make_unique<paceline::test::RecordingStrategy>(calls);
  paceline::test::RecordingStrategy& recording = *strategy;
  state_.strategy = std::move(strategy);
  log_.describe_communication(state_);
  EXPECT_THAT(sink_.text, IsEmpty()) << "there are no buckets";

  recording.report = {.backward_s = 0.5,
                      .buckets = {{3 << 20, "fc.weight", 0.125, 0}, {1 << 19, "", 0.5, 0.0625}}};
  log_.describe_communication(state_);
  EXPECT_THAT(sink_.text,
              HasSubstr("step 7, backward 500.0 ms: 3.00 MiB from 125.0 ms (fc.weight), 0.0 ms "
                        "exposed; 0.50 MiB from 500.0 ms (no gradient), 62.5 ms exposed"));
}

TEST_F(StepLogTest, WithoutSinksNothingIsLogged) {
  StepLog log({}, metrics_);
  log.log_step(state_, 1.0);
  log.log_evaluation(state_, {}, 0);
  log.describe_input(state_);
  EXPECT_THAT(sink_.steps, IsEmpty());
}

}  // namespace
}  // namespace paceline::train
