#include "paceline/nn/losses/binary_cross_entropy.h"

#include "unit/nn/losses/loss_cases.h"

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(BinaryCrossEntropy, TakesIndicesAndProbabilities) {
  const BinaryCrossEntropy loss({});
  paceline::test::expect_takes_both_targets(loss);
  paceline::test::expect_ignores_minus_100(loss);
}

TEST(BinaryCrossEntropy, AThresholdHasEachImageOfAMixtureCountWhole) {
  const BinaryCrossEntropy loss({.target_threshold = 0.2});
  const at::Tensor logits = paceline::test::three_logits().narrow(0, 0, 1);
  EXPECT_TRUE(loss.sum(logits, at::tensor({0.5, 0.1, 0.4, 0.0}).view({1, 4}))
                  .equal(loss.sum(logits, at::tensor({1.0, 0.0, 1.0, 0.0}).view({1, 4}))));
}

}  // namespace
}  // namespace paceline::nn
