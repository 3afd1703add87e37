#include "paceline/nn/layer_norm.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(LayerNorm, NormalisesRowsThenScalesAndShifts) {
  LayerNorm norm(2, 1e-6);
  const at::NoGradGuard no_grad;
  norm.weight.fill_(3.0);
  norm.bias.fill_(1.0);
  const at::Tensor x = at::tensor({1.0, 3.0, -5.0, -9.0}).view({2, 2}).to(at::kFloat);
  const at::Tensor y = norm.forward(x);
  EXPECT_NEAR(y[0][1].item<double>(), 4.0, 1e-4);
  EXPECT_NEAR(y[1][1].item<double>(), -2.0, 1e-4);
}

TEST(LayerNorm, EpsKeepsConstantRowsFinite) {
  const LayerNorm norm(4, 1e-6);
  EXPECT_EQ(norm.forward(at::ones({3, 4})).abs().sum().item<double>(), 0.0);
}

}  // namespace
}  // namespace paceline::nn
