#include "paceline/train/classification.h"

#include "unit/train/scripted_run.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

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

}  // namespace
}  // namespace paceline::train
