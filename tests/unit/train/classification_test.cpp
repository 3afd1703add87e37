#include "paceline/train/classification.h"

#include "unit/train/scripted_run.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

TEST(ClassificationModel, SumsTheLossAndCounts) {
  const auto network = std::make_shared<paceline::test::OneWeight>();
  ClassificationModel model(network, std::make_shared<nn::CrossEntropy>(nn::CrossEntropyConfig{}));
  Batch batch;
  batch.targets = at::tensor({0, 1, 2}, at::kLong);
  const at::Tensor logits =
      at::eye(3).mul(100).index_select(0, at::tensor({0, 1, 1}, at::kLong)).requires_grad_();

  const at::Tensor loss = model.loss(logits, batch);
  EXPECT_EQ(loss.item<double>(), 100.0) << "two are certain, one is certain of the wrong class";
  const at::Tensor counts = model.count(logits, batch);
  EXPECT_THAT(model.count_names(), ::testing::ElementsAre("top1", "top5"));
  EXPECT_TRUE(counts.equal(at::tensor({2, 3}, at::kDouble)));

  model.set_training(false);
  EXPECT_FALSE(network->is_training());
}

}  // namespace
}  // namespace paceline::train
