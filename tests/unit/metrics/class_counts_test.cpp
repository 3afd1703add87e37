#include "paceline/metrics/class_counts.h"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

namespace paceline::metrics {
namespace {

/// Logits of samples that are told as these of three classes.
at::Tensor logits_of(const std::vector<std::int64_t>& told) {
  return at::eye(3).index_select(0, at::tensor(told, at::kLong));
}

ClassAverage recall(Average how) { return {"recall", &ClassCount::recall, how}; }

TEST(ClassCounts, AreOfSamplesThatHaveAClass) {
  const at::Tensor logits = logits_of({0, 1, 1, 2, 0});
  const at::Tensor labels = at::tensor({0, 1, 0, -100, 0}, at::kLong);
  const at::Tensor counts = count_classes(logits, labels);
  EXPECT_TRUE(counts.equal(at::tensor({3, 1, 0, 2, 2, 0, 2, 1, 0}, at::kLong).view({3, 3})));
  EXPECT_TRUE(count_confusions(logits, labels)
                  .equal(at::tensor({2, 1, 0, 0, 1, 0, 0, 0, 0}, at::kLong).view({3, 3})));
}

TEST(ClassCounts, OfEqualLogitsTheFirstIsTold) {
  const at::Tensor counts = count_classes(at::zeros({4, 3}), at::arange(4, at::kLong) % 3);
  EXPECT_TRUE(counts[1].equal(at::tensor({4, 0, 0}, at::kLong)));
}

TEST(ClassCounts, AClassThatDoesNotOccurIsNoPartOfAMean) {
  const std::vector<ClassCount> classes{{4, 2, 2}, {1, 3, 1}, {0, 0, 0}};
  EXPECT_EQ(classes[0].precision(), 1);
  EXPECT_EQ(classes[0].recall(), 0.5);
  EXPECT_DOUBLE_EQ(classes[0].f1(), 2.0 / 3);
  EXPECT_EQ(classes[2].f1(), 0);
  EXPECT_DOUBLE_EQ(average(classes, recall(Average::kMacro)), 0.75);
  EXPECT_DOUBLE_EQ(average(classes, recall(Average::kWeighted)), 0.6);
  EXPECT_DOUBLE_EQ(balanced_accuracy(classes), 0.75);
}

TEST(ClassCounts, AClassThatIsOnlyToldHasNoRecallToAverage) {
  const std::vector<ClassCount> classes{{4, 3, 3}, {0, 1, 0}};
  EXPECT_DOUBLE_EQ(balanced_accuracy(classes), 0.75);
  EXPECT_DOUBLE_EQ(average(classes, recall(Average::kMacro)), 0.375);
}

TEST(ClassCounts, AreAveragedInFourWays) {
  const std::vector<ClassCount> classes{{4, 2, 2}, {1, 3, 1}, {0, 0, 0}};
  EXPECT_DOUBLE_EQ(average(classes, recall(Average::kMacroOfAll)), 0.5);
  EXPECT_DOUBLE_EQ(average(classes, recall(Average::kMicro)), 0.6);
  const std::array averages{recall(Average::kMicro)};
  EXPECT_EQ(find_average(averages, "recall"), averages.data());
  EXPECT_EQ(find_average(averages, "f1"), nullptr);
}

TEST(ClassCounts, CountSetsOfClasses) {
  const at::Tensor wanted = at::tensor({1, 0, 1, 0, 0, 0}, at::kLong).view({2, 3}).to(at::kBool);
  const at::Tensor told = at::tensor({1, 1, 0, 0, 0, 1}, at::kLong).view({2, 3}).to(at::kBool);
  const at::Tensor counts = count_class_sets(wanted, told);
  EXPECT_TRUE(counts.equal(at::tensor({1, 0, 1, 1, 1, 1, 1, 0, 0}, at::kLong).view({3, 3})));
  EXPECT_DOUBLE_EQ(label_accuracy(class_counts(counts), 2), 0.5);
}

TEST(ClassCounts, OfNothingThereIsNoMean) {
  const std::vector<ClassCount> classes(2);
  EXPECT_TRUE(std::isnan(average(classes, recall(Average::kMacro))));
  EXPECT_TRUE(std::isnan(label_accuracy(classes, 0)));
  EXPECT_TRUE(std::isnan(balanced_accuracy(classes)));
}

}  // namespace
}  // namespace paceline::metrics
