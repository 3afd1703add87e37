#include "paceline/app/evaluation/eval_details.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::ElementsAre;

/// Labels 0 0 0 1 2 and one without, told as 1 1 0 2 2 1.
train::SampleRecords details_records() {
  return {at::tensor({3, 4, 5, 6, 7, 8}, at::kLong), at::tensor({0, 0, 0, 1, 2, -1}, at::kLong),
          at::tensor({2.0, 3.0, 0.1, 2.0, 0.2, 9.0}, at::kDouble),
          at::tensor({1, 1, 0, 2, 2, 1}, at::kLong).view({6, 1}),
          at::tensor({0.5, 0.99, 0.9, 1.0, 0.5, 0.7}, at::kDouble).view({6, 1})};
}

TEST(EvalDetails, ConfusionsAreCountedOfSamplesWithALabel) {
  const auto top = top_confusions(details_records(), 9);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].label, 0);
  EXPECT_EQ(top[0].told, 1);
  EXPECT_EQ(top[0].count, 2);
  EXPECT_EQ(top[1].count, 1);
  EXPECT_EQ(top_confusions(details_records(), 1).size(), 1u);
  EXPECT_THAT(confusion_matrix(details_records(), 3),
              ElementsAre(ElementsAre(1, 2, 0), ElementsAre(0, 0, 1), ElementsAre(0, 0, 1)));
}

TEST(EvalDetails, TheWorstSamplesHaveTheHighestLoss) {
  std::vector<std::int64_t> indices;
  for (const SampleFacts& sample : worst_samples(details_records(), 3))
    indices.push_back(sample.index);
  EXPECT_THAT(indices, ElementsAre(4, 3, 6)) << "of equal ones the first";
}

TEST(EvalDetails, TheWorstClassesHaveTheLowestRecall) {
  const std::vector<metrics::ClassCount> classes{{4, 9, 3}, {2, 1, 0}, {5, 0, 0}, {0, 3, 0}};
  EXPECT_THAT(worst_classes(classes, 9), ElementsAre(2, 1, 0)) << "one without samples is none";
  EXPECT_THAT(worst_classes(classes, 1), ElementsAre(2));
}

TEST(EvalDetails, CalibrationComparesConfidenceWithAccuracy) {
  const auto bins = calibration_bins(details_records());
  ASSERT_EQ(bins.size(), 15u);
  EXPECT_EQ(bins[7].samples, 2);  // 0.5, one of which is right
  EXPECT_DOUBLE_EQ(bins[7].confidence, 0.5);
  EXPECT_DOUBLE_EQ(bins[7].accuracy, 0.5);
  EXPECT_EQ(bins[14].samples, 2) << "1 belongs to the last";
  EXPECT_DOUBLE_EQ(bins[14].accuracy, 0);
  EXPECT_NEAR(calibration_error(bins), (2 * 0.0 + 1 * 0.1 + 2 * 0.995) / 5, 1e-12);
  EXPECT_TRUE(std::isnan(calibration_error({})));
}

}  // namespace
}  // namespace paceline::app
