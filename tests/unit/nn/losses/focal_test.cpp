#include "paceline/nn/losses/focal.h"

#include "unit/nn/losses/loss_cases.h"

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(Focal, TakesIndicesAndProbabilities) {
  const Focal loss({});
  paceline::test::expect_takes_both_targets(loss);
  paceline::test::expect_ignores_minus_100(loss);
  paceline::test::expect_ignores_minus_100(Focal({.over = FocalOver::kSigmoid}));
}

TEST(Focal, ACertainOutputHasASlope) {
  const at::Tensor certain = at::tensor({100.0, 0.0}).view({1, 2}).requires_grad_();
  Focal({.gamma = 0.5}).sum(certain, at::tensor({0}, at::kLong)).backward();
  EXPECT_TRUE(certain.grad().isfinite().all().item<bool>());
}

}  // namespace
}  // namespace paceline::nn
