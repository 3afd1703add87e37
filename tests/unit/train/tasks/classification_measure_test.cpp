#include "paceline/train/tasks/classification_measure.h"

#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/nn/losses/jensen_shannon.h"
#include "paceline/train/tasks/classification.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::UnorderedElementsAre;

EvalMeasure::Measured measured(const std::vector<std::string>& names, const at::Tensor& logits,
                               const at::Tensor& labels, bool classes = false,
                               const nn::Loss& loss = nn::CrossEntropy({})) {
  const auto measure = make_classification_measure(names, loss, classes);
  Batch batch;
  batch.fields.set(kLabels, labels);
  measure->add({{std::string(kLogits), logits}}, batch);
  return measure->finish(*comm::make_fake_communicator(0, 1));
}

TEST(ClassificationMeasure, KnowsItsMetrics) {
  for (const char* name : {"top1", "top10", "f1_macro", "recall_weighted", "balanced_accuracy",
                           "ece", "auroc", "average_precision", "loss_p0", "loss_p99.9"})
    EXPECT_EQ(wrong_classification_metric(name), std::nullopt) << name;
  for (const char* name : {"", "top", "top0", "top-3", "top3x", "top03", "loss_p", "loss_p101",
                           "loss_pnan", "f1", "val/f1_macro"}) {
    EXPECT_THAT(wrong_classification_metric(name).value_or(""),
                HasSubstr("is no metric of classification; expected top<k>"))
        << name;
  }
}

TEST(ClassificationMeasure, GivesWhatItIsAskedFor) {
  const at::Tensor logits = at::eye(3).mul(4);
  const at::Tensor labels = at::tensor({0, 1, 0}, at::kLong);
  const auto result = measured({"top2", "f1_macro"}, logits, labels);
  EXPECT_THAT(result.values, UnorderedElementsAre(Key("top2"), Key("f1_macro")));
  EXPECT_FALSE(result.table.has_value());
  const auto with_table = measured({}, logits, labels, /*classes=*/true);
  EXPECT_TRUE(with_table.values.empty());
  EXPECT_EQ(with_table.table->classes.size(), 3);
  EXPECT_EQ(with_table.table->confusions[0][2].item<std::int64_t>(), 1);
  EXPECT_EQ(make_classification_measure({}, nn::CrossEntropy({}), false), nullptr);
}

TEST(ClassificationMeasure, OfManyClassesThereIsNoMatrix) {
  const at::Tensor logits = at::zeros({1, 1001});
  EXPECT_FALSE(measured({}, logits, at::zeros({1}, at::kLong), true).table->confusions.defined());
}

TEST(ClassificationMeasure, LeavesOutWhatHasNoClass) {
  const std::vector<std::string> names{"f1_macro",          "recall_weighted", "ece",     "auroc",
                                       "average_precision", "loss_p50",        "loss_p99"};
  const at::Tensor logits = at::arange(18, at::kFloat).sin().view({6, 3});
  const at::Tensor labels = at::tensor({0, 1, -100, 2, 0, -1}, at::kLong);
  const at::Tensor counted = at::tensor({0, 1, 3, 4}, at::kLong);
  const nn::CrossEntropy loss({});
  const auto all = measured(names, logits, at::tensor({0, 1, -100, 2, 0, -100}, at::kLong));
  EXPECT_EQ(
      all.values,
      measured(names, logits.index_select(0, counted), labels.index_select(0, counted)).values);
}

TEST(ClassificationMeasure, WhatIsUndefinedIsNoNumber) {
  const auto result = measured({"auroc", "average_precision", "loss_p50"}, at::eye(2),
                               at::full({2}, -100, at::kLong));
  for (const auto& [name, value] : result.values) EXPECT_TRUE(std::isnan(value)) << name;
}

TEST(ClassificationMeasure, LossesAreThoseOfEvaluations) {
  const at::Tensor logits = at::arange(12, at::kDouble).sin().view({4, 3});
  const at::Tensor labels = at::tensor({0, 1, 2, 0}, at::kLong);  // no three views of a sample
  const auto result = measured({"loss_p100"}, logits, labels, false,
                               nn::JensenShannon({.num_views = 3, .label_smoothing = 0.0}));
  EXPECT_DOUBLE_EQ(result.values.at("loss_p100"),
                   nn::CrossEntropy({}).per_sample(logits, labels).max().item<double>());
}

}  // namespace
}  // namespace paceline::train
