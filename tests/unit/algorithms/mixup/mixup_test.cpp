#include "paceline/algorithms/mixup/mixup.h"

#include "paceline/base/error.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/nn/image_network.h"
#include "paceline/nn/linear.h"
#include "paceline/nn/losses.h"
#include "paceline/train/run_context.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/train_state.h"
#include "support/queued_device.h"

#include <atomic>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using train::Event;

/// Gives logits of five classes, by a layer that it names.
class FiveClasses final : public nn::ImageNetwork {
 public:
  explicit FiveClasses(std::string head = "fc") : head_(std::move(head)) {
    register_module("fc", std::make_shared<nn::Linear>(12, 5));
  }
  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext&) override {
    return at::zeros({images.size(0), 5});
  }
  void initialize_parameter(const nn::NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_image(std::int64_t, std::int64_t) const override { return 0; }
  std::vector<std::string> head_names() const override { return {head_}; }

 private:
  std::string head_;
};

class MixupTest : public ::testing::Test {
 protected:
  MixupTest() {
    set_network(std::make_shared<FiveClasses>());
    state_.batch.size = 3;
    state_.batch.fields = {{"images", at::arange(3 * 3 * 4, at::kFloat).view({3, 3, 2, 2})},
                           {"labels", at::tensor({0, 4, -100}, at::kLong)}};
  }

  void set_network(std::shared_ptr<nn::Network> network) {
    set_task(std::move(network), nn::make(nn::CrossEntropyConfig{}));
  }
  void set_task(std::shared_ptr<nn::Network> network, std::shared_ptr<nn::Loss> loss) {
    state_.task = std::make_unique<train::ClassificationTask>(std::move(network), std::move(loss));
  }
  Mixup prepared(const MixupConfig& config = {}) {
    Mixup mixup(config);
    mixup.apply(Event::kPrepared, state_, run_);
    return mixup;
  }
  train::Batch mixed(Mixup& mixup) {
    train::Batch batch = state_.batch;
    mixup.transform(batch, state_, run_);
    return batch;
  }

  const std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  const std::atomic<int> no_signal_{0};
  const train::RunContext run_{*communicator_, {}, 1, {}, no_signal_};
  train::TrainState state_;
};

TEST_F(MixupTest, LeavesLabelsForTheMetricsAndTheLoadersMemoryAlone) {
  Mixup mixup = prepared();
  const at::Tensor images = state_.batch.fields.at("images");
  const at::Tensor before = images.clone();
  const train::Batch batch = mixed(mixup);
  EXPECT_TRUE(images.equal(before));
  EXPECT_FALSE(batch.fields.at("images").equal(before));
  EXPECT_TRUE(batch.fields.at("labels").equal(at::tensor({0, 4, -100}, at::kLong)));
  const at::Tensor weights = batch.fields.at("targets").sum();
  EXPECT_FLOAT_EQ(weights.item<float>(), 2);  // -100 counts nothing, wherever it is mixed in
}

TEST_F(MixupTest, DrawsByTheStep) {
  Mixup mixup = prepared();
  const at::Tensor first = mixed(mixup).fields.at("images");
  EXPECT_TRUE(mixed(mixup).fields.at("images").equal(first));
  ++state_.clock.step;
  EXPECT_FALSE(mixed(mixup).fields.at("images").equal(first));
}

TEST_F(MixupTest, TellsWhatSamplesKeepOfThemselves) {
  Mixup mixup = prepared();
  for (int step = 0; step < 2; ++step) {
    mixup.apply(Event::kStepStart, state_, run_);
    mixed(mixup);
    mixed(mixup);  // another microbatch
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
  Mixup mixup = prepared();
  device.gpu().reset_counts();
  for (int microbatch = 0; microbatch < 2; ++microbatch) {
    train::Batch batch = state_.batch;
    mixup.transform(batch, state_, run);
  }
  EXPECT_EQ(device.gpu().counts().waits, 0);
  EXPECT_EQ(device.gpu().counts().pageable_copies, 0);
  device.synchronize();
  mixup.apply(Event::kStepStart, state_, run);
  for (int microbatch = 0; microbatch < 2; ++microbatch) {  // in the memory of the step before
    train::Batch batch = state_.batch;
    mixup.transform(batch, state_, run);
  }
}

// Each pass finds the mixture of its microbatch.
TEST_F(MixupTest, MixesLossesOfEachMicrobatchAsItsImages) {
  Mixup mixup = prepared({.interpolate_loss = true});
  state_.batch.fields.at("labels").fill_(0);
  std::vector<train::Batch> microbatches;
  for (const std::int64_t position : {0, 3}) {
    state_.batch.first_position = position;
    microbatches.push_back(mixed(mixup));
    EXPECT_FALSE(microbatches.back().fields.contains("targets"));
  }
  state_.outputs = {{"logits", at::zeros({3, 5})}};
  for (const train::Batch& microbatch : microbatches) {
    state_.batch = microbatch;
    state_.loss = state_.task->loss(state_.outputs, state_.batch);
    const double alone = state_.loss.item<double>();
    mixup.apply(Event::kAfterLoss, state_, run_);
    EXPECT_NEAR(state_.loss.item<double>(), alone, 1e-5) << "all are of one class";
  }
  state_.batch.first_position = 6;
  EXPECT_THROW(mixup.apply(Event::kAfterLoss, state_, run_), std::out_of_range);
  mixup.apply(Event::kStepStart, state_, run_);
  state_.batch.first_position = 0;
  EXPECT_THROW(mixup.apply(Event::kAfterLoss, state_, run_), std::out_of_range);
}

TEST_F(MixupTest, HasNoLossToMixOnARankWithoutSamples) {
  state_.batch.size = 0;
  state_.loss = at::zeros({});
  Mixup mixup = prepared({.interpolate_loss = true});
  mixup.apply(Event::kAfterLoss, state_, run_);
  EXPECT_EQ(state_.loss.item<double>(), 0);
}

TEST_F(MixupTest, ActsWithinThePassesOnlyWhereItMixesLosses) {
  EXPECT_FALSE(Mixup({}).traits().events.contains(Event::kAfterLoss));
  EXPECT_TRUE(Mixup({.interpolate_loss = true}).traits().events.contains(Event::kAfterLoss));
  for (const bool interpolates : {false, true}) {
    const auto traits = Mixup({.interpolate_loss = interpolates}).traits();
    EXPECT_TRUE(traits.transforms_batches);
    EXPECT_FALSE(traits.events.contains(Event::kBeforeForward));
  }
}

TEST_F(MixupTest, RefusesANetworkThatDoesNotTellItsClasses) {
  set_network(std::make_shared<FiveClasses>(""));
  EXPECT_THAT([&] { prepared(); },
              ThrowsMessage<base::ConfigError>(HasSubstr("mixup.interpolate_loss=true")));
  prepared({.interpolate_loss = true});
}

TEST_F(MixupTest, WhatHasNoClassCountsNothingOfASmoothedLossEither) {
  set_task(std::make_shared<FiveClasses>(),
           nn::make(nn::CrossEntropyConfig{.label_smoothing = 0.2}));
  Mixup by_targets = prepared();
  Mixup by_losses = prepared({.interpolate_loss = true});
  const tensor::Fields outputs{{"logits", at::arange(15, at::kFloat).sin().view({3, 5})}};
  state_.outputs = outputs;
  const double mixed_targets = state_.task->loss(outputs, mixed(by_targets)).item<double>();
  state_.batch = mixed(by_losses);
  state_.loss = state_.task->loss(outputs, state_.batch);
  by_losses.apply(Event::kAfterLoss, state_, run_);
  EXPECT_NEAR(mixed_targets, state_.loss.item<double>(), 1e-5);
}

/// Knows class indices alone.
class IndexLoss final : public nn::Loss {
 public:
  at::Tensor per_sample(const at::Tensor& outputs, const at::Tensor& targets) const override {
    return -outputs.gather(1, targets.unsqueeze(1)).squeeze(1);
  }
  bool takes_probabilities() const override { return false; }
};

TEST_F(MixupTest, RefusesALossThatTakesNoProbabilities) {
  set_task(std::make_shared<FiveClasses>(), std::make_shared<IndexLoss>());
  EXPECT_THAT([&] { prepared(); },
              ThrowsMessage<base::ConfigError>(HasSubstr("mixup.interpolate_loss=true")));
  prepared({.interpolate_loss = true});
}

TEST_F(MixupTest, RefusesALabelThatTheModelHasNoClassFor) {
  state_.batch.fields.at("labels")[1] = 5;
  Mixup mixup = prepared();
  EXPECT_THAT([&] { mixed(mixup); },
              ThrowsMessage<base::DataError>(HasSubstr("label 5, and the model has 5 classes")));
}

TEST_F(MixupTest, RefusesABatchWithoutImages) {
  state_.batch.fields = {{"series", at::zeros({3, 2})}, {"labels", at::zeros({3}, at::kLong)}};
  Mixup mixup = prepared();
  EXPECT_THAT([&] { mixed(mixup); },
              ThrowsMessage<base::ConfigError>(HasSubstr("are series, labels")));
}

}  // namespace
}  // namespace paceline::algorithms
