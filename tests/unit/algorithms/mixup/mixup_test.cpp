#include "paceline/algorithms/mixup/mixup.h"

#include "paceline/base/error.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/train/classification.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"
#include "support/queued_device.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using train::Event;

class MixupTest : public ::testing::Test {
 protected:
  MixupTest() {
    state_.batch.size = 3;
    state_.batch.fields = {{"images", at::arange(3 * 3 * 4, at::kFloat).view({3, 3, 2, 2})},
                           {"labels", at::tensor({0, 4, -100}, at::kLong)}};
    state_.outputs = {{"logits", at::zeros({3, 5})}};
  }

  const std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  const std::atomic<int> no_signal_{0};
  const train::RunContext run_{*communicator_, {}, 1, {}, no_signal_};
  train::TrainState state_;
};

TEST_F(MixupTest, LeavesLabelsForTheMetricsAndTheLoadersMemoryAlone) {
  Mixup mixup({});
  const at::Tensor images = state_.batch.fields.at("images");
  const at::Tensor before = images.clone();
  mixup.apply(Event::kBeforeForward, state_, run_);
  mixup.apply(Event::kBeforeLoss, state_, run_);
  EXPECT_TRUE(images.equal(before));
  EXPECT_FALSE(state_.batch.fields.at("images").equal(before));
  EXPECT_TRUE(state_.batch.fields.at("labels").equal(at::tensor({0, 4, -100}, at::kLong)));
  const at::Tensor weights = state_.batch.fields.at("targets").sum();
  EXPECT_FLOAT_EQ(weights.item<float>(), 2);  // -100 counts nothing, wherever it is mixed in
}

TEST_F(MixupTest, SeesTheSameInEveryPassOfAStep) {
  Mixup mixup({});
  const tensor::Fields before = state_.batch.fields;
  mixup.apply(Event::kBeforeForward, state_, run_);
  const at::Tensor first = state_.batch.fields.at("images");
  state_.batch.fields = before;
  mixup.apply(Event::kBeforeForward, state_, run_);
  EXPECT_TRUE(state_.batch.fields.at("images").equal(first));
  state_.batch.fields = before;
  ++state_.clock.step;
  mixup.apply(Event::kBeforeForward, state_, run_);
  EXPECT_FALSE(state_.batch.fields.at("images").equal(first));
}

TEST_F(MixupTest, TellsWhatSamplesKeepOfThemselves) {
  Mixup mixup({});
  for (int step = 0; step < 2; ++step) {
    mixup.apply(Event::kStepStart, state_, run_);
    mixup.apply(Event::kBeforeForward, state_, run_);
    mixup.apply(Event::kBeforeForward, state_, run_);  // another microbatch, or pass
    const double share = draw_mixtures({}, run_.seed, step, 0, 3).front().share;
    EXPECT_THAT(mixup.scalars(), ::testing::ElementsAre(::testing::DoubleEq(1 - share)));
    ++state_.clock.step;
  }
  EXPECT_EQ(mixup.traits().scalars.size(), mixup.scalars().size());
}

TEST_F(MixupTest, WaitsForNoDevice) {
  test::QueuedDevice device(0);
  const train::RunContext run{*communicator_, {}, 1, {}, no_signal_, device};
  state_.batch.fields =
      state_.batch.fields.map([&](const at::Tensor& tensor) { return tensor.to(device.place()); });
  state_.outputs =
      state_.outputs.map([&](const at::Tensor& tensor) { return tensor.to(device.place()); });
  Mixup mixup({});
  device.gpu().reset_counts();
  for (int microbatch = 0; microbatch < 2; ++microbatch) {
    mixup.apply(Event::kBeforeForward, state_, run);
    mixup.apply(Event::kBeforeLoss, state_, run);
  }
  EXPECT_EQ(device.gpu().counts().waits, 0);
  EXPECT_EQ(device.gpu().counts().pageable_copies, 0);
  device.synchronize();
  mixup.apply(Event::kStepStart, state_, run);
  for (int microbatch = 0; microbatch < 2; ++microbatch)  // in the memory of the step before
    mixup.apply(Event::kBeforeForward, state_, run);
}

TEST_F(MixupTest, HasNothingToDoOnARankWithoutSamples) {
  state_.batch.size = 0;
  state_.batch.fields =
      state_.batch.fields.map([](const at::Tensor& tensor) { return tensor.narrow(0, 0, 0); });
  state_.loss = at::zeros({});
  for (const bool interpolates : {false, true}) {
    Mixup mixup({.interpolate_loss = interpolates});
    for (const Event event : {Event::kBeforeForward, Event::kBeforeLoss, Event::kAfterLoss})
      mixup.apply(event, state_, run_);
    EXPECT_FALSE(state_.batch.fields.contains("targets"));
  }
}

TEST_F(MixupTest, RefusesALabelThatTheModelHasNoClassFor) {
  state_.batch.fields.at("labels")[1] = 5;
  Mixup mixup({});
  mixup.apply(Event::kBeforeForward, state_, run_);
  EXPECT_THAT([&] { mixup.apply(Event::kBeforeLoss, state_, run_); },
              ThrowsMessage<base::DataError>(HasSubstr("label 5, and the model has 5 classes")));
}

TEST_F(MixupTest, RefusesABatchWithoutImages) {
  state_.batch.fields = {{"series", at::zeros({3, 2})}, {"labels", at::zeros({3}, at::kLong)}};
  EXPECT_THAT([&] { Mixup({}).apply(Event::kBeforeForward, state_, run_); },
              ThrowsMessage<base::ConfigError>(HasSubstr("are series, labels")));
}

}  // namespace
}  // namespace paceline::algorithms
