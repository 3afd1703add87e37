#include "paceline/train/tasks/multi_label_measure.h"

#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/nn/losses/binary_cross_entropy.h"
#include "paceline/train/tasks/classification.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using ::testing::HasSubstr;

const at::Tensor kSetLogits = at::tensor({2.0, -1.0, 0.5, 0.1, -3.0, -0.2}).view({2, 3});
const at::Tensor kSetTargets = at::tensor({1.0, 0.0, 0.0, 1.0, 0.0, 1.0}).view({2, 3});

EvalMeasure::Measured measured_sets(const std::vector<std::string>& names, double threshold,
                                    bool classes = false) {
  const nn::BinaryCrossEntropy loss({});
  const auto measure = make_multi_label_measure(names, loss, threshold, classes);
  Batch batch;
  batch.fields.set(kTargets, kSetTargets);
  measure->add({{std::string(kLogits), kSetLogits}}, batch);
  return measure->finish(*comm::make_fake_communicator(0, 1));
}

TEST(MultiLabelMeasure, KnowsItsMetrics) {
  for (const char* name :
       {"f1_micro", "precision_macro", "label_accuracy", "average_precision", "loss_p95"})
    EXPECT_EQ(wrong_multi_label_metric(name), std::nullopt) << name;
  for (const char* name : {"", "top1", "ece", "balanced_accuracy", "f1", "loss_p101"}) {
    EXPECT_THAT(wrong_multi_label_metric(name).value_or(""),
                HasSubstr("is no metric of multi_label; expected loss_p<percent>"))
        << name;
  }
}

TEST(MultiLabelMeasure, TellsWhatIsAboveTheThreshold) {
  EXPECT_DOUBLE_EQ(measured_sets({"recall_micro"}, 0.5).values.at("recall_micro"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(measured_sets({"recall_micro"}, 0.4).values.at("recall_micro"), 1.0);
  EXPECT_DOUBLE_EQ(measured_sets({"recall_micro"}, 0.6).values.at("recall_micro"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(measured_sets({"label_accuracy"}, 0.5).values.at("label_accuracy"), 4.0 / 6);
}

TEST(MultiLabelMeasure, HasATableWithoutConfusions) {
  const auto measured = measured_sets({}, 0.5, /*classes=*/true);
  ASSERT_TRUE(measured.table.has_value());
  EXPECT_EQ(measured.table->classes.at(0).samples, 2);
  EXPECT_EQ(measured.table->classes.at(2).told, 1);
  EXPECT_FALSE(measured.table->confusions.defined());
  EXPECT_EQ(make_multi_label_measure({}, nn::BinaryCrossEntropy({}), 0.5, false), nullptr);
}

TEST(MultiLabelMeasure, CountsTheLossOfSamplesWithoutAClass) {
  const auto measured = measured_sets({"loss_p0", "loss_p100"}, 0.5);
  const at::Tensor losses = nn::BinaryCrossEntropy({}).per_sample(kSetLogits, kSetTargets);
  EXPECT_NEAR(measured.values.at("loss_p0"), losses.min().item<double>(), 1e-6);
  EXPECT_NEAR(measured.values.at("loss_p100"), losses.max().item<double>(), 1e-6);
}

TEST(ClassSetProbabilities, AreSigmoidsInWideFloats) {
  const at::Tensor logits = at::tensor({0.0, 2.0});
  EXPECT_EQ(class_set_probabilities(logits.to(at::kBFloat16)).scalar_type(), at::kFloat);
  const at::Tensor wide = class_set_probabilities(logits.to(at::kDouble));
  EXPECT_EQ(wide.scalar_type(), at::kDouble);
  EXPECT_DOUBLE_EQ(wide[1].item<double>(), 1 / (1 + std::exp(-2.0)));
}

}  // namespace
}  // namespace paceline::train
