#include "paceline/nn/blocks/squeeze_excitation.h"

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(SqueezeExcitation, ScalesChannelsByWhatTheirMeansGive) {
  const SqueezeExcitation layer(2, 1, Activation::kRelu, Activation::kHardsigmoid);
  const at::NoGradGuard no_grad;
  const auto parameters = layer.named_parameters();
  parameters["fc1.weight"].copy_(at::tensor({1.0, 2.0}).view({1, 2, 1, 1}));
  parameters["fc1.bias"].fill_(-2.0);
  parameters["fc2.weight"].copy_(at::tensor({1.0, -2.0}).view({2, 1, 1, 1}));
  parameters["fc2.bias"].fill_(0.0);
  at::Tensor x = at::zeros({1, 2, 2, 2});
  x[0][0] = at::tensor({0.0F, 2.0F, 1.0F, 1.0F}).view({2, 2});  // of mean 1
  x[0][1].fill_(1.0);
  // 1 * 1 + 2 * 1 - 2 = 1, so the factors are 1 / 6 + 1 / 2 and 1 / 2 - 2 / 6.
  const at::Tensor y = layer.forward(x);
  EXPECT_TRUE(at::allclose(y[0][0], x[0][0] * (2.0 / 3)));
  EXPECT_TRUE(at::allclose(y[0][1], x[0][1] / 6.0));
  LayerCosts costs;
  layer.count(costs);
  EXPECT_DOUBLE_EQ(costs.flops(), 2.0 * (2 + 2));
}

}  // namespace
}  // namespace paceline::nn
