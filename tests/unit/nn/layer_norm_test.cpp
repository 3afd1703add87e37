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

TEST(LayerNorm, OfChannelsLeavesThemLast) {
  LayerNorm norm(3, 1e-6);
  const at::NoGradGuard no_grad;
  norm.weight.copy_(at::tensor({1.0, 2.0, 3.0}));
  const at::Tensor x = at::linspace(-1, 2, 2 * 3 * 4 * 5).sin().view({2, 3, 4, 5});
  const at::Tensor y = norm.forward_channels(x);
  EXPECT_TRUE(y.is_contiguous(at::MemoryFormat::ChannelsLast));
  const at::Tensor pixel = norm.forward(x.select(3, 4).select(2, 1));
  EXPECT_TRUE(at::equal(y.select(3, 4).select(2, 1), pixel));
}

}  // namespace
}  // namespace paceline::nn
