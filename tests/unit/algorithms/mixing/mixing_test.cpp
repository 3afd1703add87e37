#include "paceline/algorithms/mixing/mixing.h"

#include "paceline/algorithms/cutmix/cutmix.h"
#include "paceline/algorithms/mixup/mixup.h"
#include "paceline/base/error.h"
#include "unit/algorithms/image_step.h"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// What mixup and cutmix have in common.

namespace paceline::algorithms {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using train::Event;

class MixingTest : public ImageStep, public ::testing::WithParamInterface<const char*> {
 protected:
  std::unique_ptr<train::Algorithm> made(bool interpolate_loss = false,
                                         std::optional<std::int64_t> group = {}) const {
    if (GetParam() == std::string("mixup"))
      return make(MixupConfig{.alpha = 1, .interpolate_loss = interpolate_loss, .group = group});
    return make(CutmixConfig{.interpolate_loss = interpolate_loss, .group = group});
  }
  std::unique_ptr<train::Algorithm> prepared(bool interpolate_loss = false,
                                             std::optional<std::int64_t> group = {}) {
    auto algorithm = made(interpolate_loss, group);
    algorithm->apply(Event::kPrepared, state_, run_);
    return algorithm;
  }
  auto names(const std::string& text) const {
    return ThrowsMessage<base::ConfigError>(
        HasSubstr("algorithms." + std::string(GetParam()) + text));
  }
};

TEST_P(MixingTest, LeavesLabelsForTheMetricsAndTheLoadersMemoryAlone) {
  set_images(4, 8, 6);
  expect_labels_and_loaders_memory_left_alone(*prepared());
}

TEST_P(MixingTest, WhatHasNoClassCountsNothingWhereverItIsMixedIn) {
  const train::Batch batch = transformed(*prepared());
  EXPECT_FLOAT_EQ(batch.fields.at("targets").sum().item<float>(), 2);
}

TEST_P(MixingTest, TakesImagesOfAnyLayoutAndType) {
  set_images(4, 8, 6);
  expect_any_layout_and_type(*prepared());
}

TEST_P(MixingTest, DrawsByTheStep) {
  set_images(4, 8, 6);
  const auto algorithm = prepared();
  const at::Tensor first = transformed_images(*algorithm);
  EXPECT_TRUE(transformed_images(*algorithm).equal(first));
  ++state_.clock.step;
  EXPECT_FALSE(transformed_images(*algorithm).equal(first));
}

TEST_P(MixingTest, MixesAGroupAlikeInEveryMicrobatchThatHoldsIt) {
  expect_groups_equal(*prepared(false, 2));
}

TEST_P(MixingTest, WaitsForNoDevice) {
  set_images(3, 8, 6);
  expect_no_wait(*prepared());
}

// Each pass finds the mixture of its microbatch.
TEST_P(MixingTest, MixesLossesOfEachMicrobatchAsItsImages) {
  const auto algorithm = prepared(true);
  state_.batch.fields.at("labels").fill_(0);
  std::vector<train::Batch> microbatches;
  for (const std::int64_t position : {0, 3}) {
    state_.batch.first_position = position;
    microbatches.push_back(transformed(*algorithm));
    EXPECT_FALSE(microbatches.back().fields.contains("targets"));
  }
  state_.outputs = {{"logits", at::zeros({3, 5})}};
  for (const train::Batch& microbatch : microbatches) {
    state_.batch = microbatch;
    state_.loss = state_.task->loss(state_.outputs, state_.batch);
    const double alone = state_.loss.item<double>();
    algorithm->apply(Event::kAfterLoss, state_, run_);
    EXPECT_NEAR(state_.loss.item<double>(), alone, 1e-5) << "all are of one class";
  }
  state_.batch.first_position = 6;
  EXPECT_THROW(algorithm->apply(Event::kAfterLoss, state_, run_), std::out_of_range);
  algorithm->apply(Event::kStepStart, state_, run_);
  state_.batch.first_position = 0;
  EXPECT_THROW(algorithm->apply(Event::kAfterLoss, state_, run_), std::out_of_range);
}

TEST_P(MixingTest, HasNoLossToMixOnARankWithoutSamples) {
  state_.batch.size = 0;
  state_.loss = at::zeros({});
  prepared(true)->apply(Event::kAfterLoss, state_, run_);
  EXPECT_EQ(state_.loss.item<double>(), 0);
}

TEST_P(MixingTest, ActsWithinThePassesOnlyWhereItMixesLosses) {
  EXPECT_FALSE(made()->traits().events.contains(Event::kAfterLoss));
  EXPECT_TRUE(made(true)->traits().events.contains(Event::kAfterLoss));
  for (const bool interpolates : {false, true}) {
    const auto traits = made(interpolates)->traits();
    EXPECT_TRUE(traits.transforms_batches);
    EXPECT_FALSE(traits.events.contains(Event::kBeforeForward));
    EXPECT_EQ(traits.replaces_loss, interpolates);
  }
}

TEST_P(MixingTest, WhatHasNoClassCountsNothingOfASmoothedLossEither) {
  set_images(3, 8, 6);
  state_.batch.fields.set("labels", at::tensor({0, 4, -100}, at::kLong));
  set_task(std::make_shared<FiveClasses>(),
           nn::make(nn::CrossEntropyConfig{.label_smoothing = 0.2}));
  const auto by_losses = prepared(true);
  state_.outputs = {{"logits", at::arange(15, at::kFloat).sin().view({3, 5})}};
  const double mixed_targets =
      state_.task->loss(state_.outputs, transformed(*prepared())).item<double>();
  state_.batch = transformed(*by_losses);
  state_.loss = state_.task->loss(state_.outputs, state_.batch);
  by_losses->apply(Event::kAfterLoss, state_, run_);
  EXPECT_NEAR(mixed_targets, state_.loss.item<double>(), 1e-5);
}

TEST_P(MixingTest, RefusesANetworkThatDoesNotTellItsClasses) {
  set_network(std::make_shared<FiveClasses>(""));
  EXPECT_THAT([&] { prepared(); }, names(" gives each sample a probability"));
  EXPECT_THAT([&] { prepared(); }, names(".interpolate_loss=true"));
  prepared(true);
}

/// Knows class indices alone.
class IndexLoss final : public nn::Loss {
 public:
  at::Tensor per_sample(const at::Tensor& outputs, const at::Tensor& targets) const override {
    return -outputs.gather(1, targets.unsqueeze(1)).squeeze(1);
  }
  bool takes_probabilities() const override { return false; }
};

TEST_P(MixingTest, RefusesALossThatTakesNoProbabilities) {
  set_task(std::make_shared<FiveClasses>(), std::make_shared<IndexLoss>());
  EXPECT_THAT([&] { prepared(); }, names(".interpolate_loss=true"));
  prepared(true);
}

TEST_P(MixingTest, RefusesALabelThatTheModelHasNoClassFor) {
  state_.batch.fields.at("labels")[1] = 5;
  const auto algorithm = prepared();
  EXPECT_THAT([&] { transformed(*algorithm); },
              ThrowsMessage<base::DataError>(HasSubstr("label 5, and the model has 5 classes")));
}

TEST_P(MixingTest, RefusesABatchWithoutImages) {
  state_.batch.fields = {{"series", at::zeros({3, 2})}, {"labels", at::zeros({3}, at::kLong)}};
  const auto algorithm = prepared();
  EXPECT_THAT([&] { transformed(*algorithm); }, names(" needs a data set of images"));
}

TEST_P(MixingTest, HasTheImagesTwice) {
  EXPECT_EQ(made()->copied_bytes(state_, {{"images", 96}, {"labels", 8}}), 96U);
}

TEST_P(MixingTest, MayComeOrGoWhereARunIsResumed) { EXPECT_TRUE(made()->traits().may_come_or_go); }

INSTANTIATE_TEST_SUITE_P(Algorithms, MixingTest, ::testing::Values("mixup", "cutmix"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace paceline::algorithms
