#include "paceline/train/tasks/classification.h"

#include "paceline/base/error.h"
#include "paceline/nn/image_network.h"
#include "paceline/nn/losses/jensen_shannon.h"
#include "unit/train/scripted_run.h"

#include <array>
#include <cmath>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

/// Its logits are the pixels.
class Pixels final : public nn::ImageNetwork {
 public:
  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext&) override {
    return images.flatten(1);
  }
  void initialize_parameter(const nn::NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_image(std::int64_t, std::int64_t) const override { return 0; }
};

TEST(ClassificationTask, PredictsProbabilities) {
  ClassificationTask task(std::make_shared<Pixels>(), nullptr);
  for (const auto& [dtype, given] :
       {std::pair(at::kBFloat16, at::kFloat), std::pair(at::kDouble, at::kDouble)}) {
    Batch batch;
    batch.fields.set(kImages,
                     at::tensor({0.0, 0.0, 1.0, -1.0, 2.0, 5.0}).view({2, 1, 1, 3}).to(dtype));
    const at::Tensor probabilities = task.predict(batch, {}).at("probabilities");
    EXPECT_EQ(probabilities.scalar_type(), given);
    EXPECT_TRUE(probabilities.sum(1).allclose(at::ones({2}, given)));
    EXPECT_NEAR(probabilities[0][2].item<double>(), std::exp(1) / (2 + std::exp(1)), 1e-6);
  }
}

TEST(ClassificationTask, SumsTheLossAndCountsByLabels) {
  const auto network = std::make_shared<paceline::test::OneWeight>();
  ClassificationTask task(network, std::make_shared<nn::CrossEntropy>(nn::CrossEntropyConfig{}));
  Batch batch;
  batch.fields.set(kLabels, at::tensor({0, 1, 2}, at::kLong));
  const at::Tensor logits =
      at::eye(3).mul(100).index_select(0, at::tensor({0, 1, 1}, at::kLong)).requires_grad_();

  const tensor::Fields outputs{{std::string(kLogits), logits}};
  const at::Tensor loss = task.loss(outputs, batch);
  EXPECT_EQ(loss.item<double>(), 100.0) << "two are certain, one is certain of the wrong class";
  EXPECT_THAT(task.metrics(), ::testing::ElementsAre(::testing::Field(&Metric::name, "top1"),
                                                     ::testing::Field(&Metric::name, "top5")));
  EXPECT_TRUE(task.sums(outputs, batch).equal(at::tensor({2, 3}, at::kDouble)));

  batch.fields.set(kTargets, at::tensor({0, 1, 1}, at::kLong));
  EXPECT_EQ(task.loss(outputs, batch).item<double>(), 0.0) << "targets are what the loss sees";
  EXPECT_TRUE(task.sums(outputs, batch).equal(at::tensor({2, 3}, at::kDouble)));

  task.set_training(false);
  EXPECT_FALSE(network->is_training());
}

TEST(ClassificationTask, EvaluatesByTheLossOfEvaluations) {
  const auto loss = std::make_shared<nn::JensenShannon>(nn::JensenShannonConfig{.num_views = 3});
  ClassificationTask task(std::make_shared<Pixels>(), loss, {"top2"});
  EXPECT_EQ(task.num_views(), 3);
  EXPECT_THAT(task.eval_metrics(), ::testing::ElementsAre("top2"));
  Batch batch;
  batch.fields = {{"images", at::arange(6, at::kFloat).view({2, 1, 1, 3})},
                  {"labels", at::tensor({0, 2}, at::kLong)}};
  const auto evaluated = task.evaluate(batch, {});  // no three views of a sample
  const at::Tensor& logits = evaluated.outputs.at(kLogits);
  EXPECT_TRUE(evaluated.loss.equal(
      nn::CrossEntropy({.label_smoothing = 0.1}).sum(logits, batch.fields.at(kLabels))));
  EXPECT_THROW(task.loss(evaluated.outputs, batch), base::ConfigError);
}

TEST(ClassificationTask, RefusesToCompareOtherSamplesThanViewsOfOne) {
  const auto loss = std::make_shared<nn::JensenShannon>(nn::JensenShannonConfig{.num_views = 2});
  ClassificationTask task(std::make_shared<Pixels>(), loss);
  Batch batch;
  batch.fields = {{"labels", at::zeros({4}, at::kLong)}};
  const tensor::Fields outputs{{std::string(kLogits), at::zeros({4, 3})}};
  batch.indices = {7, 7, 2, 2};
  task.loss(outputs, batch);
  batch.indices = {7, 7, 2, 3};
  EXPECT_THAT([&] { task.loss(outputs, batch); },
              ::testing::ThrowsMessage<base::ConfigError>(
                  ::testing::HasSubstr("name: repeated_augmentation, repeats: 2")));
}

TEST(ClassificationTask, NamesTheMetricThatItDoesNotKnow) {
  config::Problems problems;
  config::Schema<ClassificationConfig>::validate({.metrics = {"top3", "accuracy"}}, problems);
  EXPECT_THAT([&] { problems.throw_if_any(); },
              ::testing::ThrowsMessage<base::ConfigError>(
                  ::testing::HasSubstr("'accuracy' is no metric of classification")));
}

}  // namespace
}  // namespace paceline::train
