#include "paceline/nn/losses/jensen_shannon.h"

#include "paceline/base/error.h"
#include "unit/nn/losses/loss_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

using paceline::test::three_logits;

TEST(JensenShannon, EqualViewsHaveTheCrossEntropyAlone) {
  const at::Tensor logits = three_logits();
  const at::Tensor labels = at::tensor({1, 0, 3}, at::kLong);
  const at::Tensor twice = labels.repeat_interleave(2);
  const JensenShannon loss({.num_views = 2, .label_smoothing = 0.1});
  const at::Tensor expected =
      CrossEntropy({.label_smoothing = 0.1}).per_sample(logits, labels).repeat_interleave(2);
  EXPECT_TRUE(loss.per_sample(logits.repeat_interleave(2, 0), twice).allclose(expected));
  EXPECT_TRUE(loss.per_sample(logits.repeat_interleave(2, 0), at::one_hot(twice, 4).to(at::kDouble))
                  .allclose(expected));
}

TEST(JensenShannon, AGroupWithoutAClassCountsNothing) {
  const JensenShannon loss({.num_views = 3});
  EXPECT_EQ(loss.sum(three_logits(), at::full({3}, -100, at::kLong)).item<double>(), 0);
}

TEST(JensenShannon, RefusesAMicrobatchOfBrokenGroups) {
  const auto compare = [] {
    JensenShannon({.num_views = 2}).sum(three_logits(), at::zeros({3}, at::kLong));
  };
  EXPECT_THAT(compare, ::testing::ThrowsMessage<base::ConfigError>(
                           ::testing::HasSubstr("a batch has 3, no multiple of 2")));
}

TEST(JensenShannon, EvaluationsTakeEachSampleAsItIs) {
  const JensenShannon loss({.num_views = 2, .label_smoothing = 0.0});
  const at::Tensor labels = at::tensor({1, 0, 3}, at::kLong);
  EXPECT_TRUE(loss.of_evaluation()
                  .sum(three_logits(), labels)
                  .equal(CrossEntropy({}).sum(three_logits(), labels)));
}

}  // namespace
}  // namespace paceline::nn
