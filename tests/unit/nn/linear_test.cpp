#include "paceline/nn/linear.h"

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(Linear, MultipliesByTheTransposedWeightAndAddsTheBias) {
  Linear linear(2, 3);
  const at::NoGradGuard no_grad;
  linear.weight.copy_(at::tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}).view({3, 2}));
  linear.bias.copy_(at::tensor({0.5, 0.0, -0.5}));
  const at::Tensor x = at::tensor({1.0, 10.0}).to(at::kFloat);
  const at::Tensor wanted = at::tensor({21.5, 43.0, 64.5}).to(at::kFloat);
  EXPECT_TRUE(at::equal(linear.forward(x), wanted));
  EXPECT_TRUE(at::equal(linear.forward(x.view({1, 1, 2})).flatten(), wanted));
  EXPECT_DOUBLE_EQ(linear.flops(), 12.0);
}

TEST(Linear, HasABiasUnlessItIsUnwanted) {
  const Linear plain(2, 3, /*has_bias=*/false);
  EXPECT_EQ(plain.named_parameters().size(), 1u);
  const at::NoGradGuard no_grad;
  plain.weight.fill_(2.0);
  EXPECT_TRUE(at::equal(plain.forward(at::ones({1, 2})), at::full({1, 3}, 4.0)));
}

}  // namespace
}  // namespace paceline::nn
