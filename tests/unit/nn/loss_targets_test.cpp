#include "paceline/nn/loss_targets.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(LossTargets, AnIndexBelowZeroHasNoClass) {
  const at::Tensor targets = at::tensor({1, -100, 0}, at::kLong);
  const at::Tensor probabilities = as_probabilities(targets, 2, at::kDouble);
  EXPECT_TRUE(probabilities.equal(at::tensor({0.0, 1.0, 0.0, 0.0, 1.0, 0.0}).view({3, 2})));
  EXPECT_TRUE(of_counted(at::ones({3}), targets).equal(at::tensor({1.F, 0.F, 1.F})));
  EXPECT_TRUE(of_counted(at::ones({3}), probabilities).equal(at::ones({3})));
}

TEST(LossTargets, RefusesALabelOutOfRange) {
  EXPECT_THAT(
      [] {
        as_probabilities(at::tensor({1, 7}, at::kLong), 5, at::kFloat);
      },
      ::testing::ThrowsMessage<base::DataError>(
          ::testing::HasSubstr("a sample has label 7, and the model has 5 classes")));
}

TEST(LossTargets, SmoothingGivesNothingToARowOfNothing) {
  const at::Tensor rows = at::tensor({0.25, 0.75, 0.0, 0.3, 0.0, 0.0}).view({3, 2}).to(at::kDouble);
  const at::Tensor expected = at::tensor({0.25 * 0.8 + 0.1, 0.75 * 0.8 + 0.1,  //
                                          0.03, 0.3 * 0.8 + 0.03, 0.0, 0.0})
                                  .view({3, 2})
                                  .to(at::kDouble);
  EXPECT_TRUE(smoothed(rows, 0.2).allclose(expected, 0, 1e-7));
  EXPECT_TRUE(smoothed(rows, 0).is_same(rows));
}

TEST(LossTargets, LossesOfNarrowOutputsAreComputedInFloat32) {
  EXPECT_EQ(loss_dtype(at::zeros({1}, at::kBFloat16)), at::kFloat);
  EXPECT_EQ(loss_dtype(at::zeros({1}, at::kHalf)), at::kFloat);
  EXPECT_EQ(loss_dtype(at::zeros({1}, at::kDouble)), at::kDouble);
}

}  // namespace
}  // namespace paceline::nn
