#include "paceline/nn/linear.h"

#include "paceline/base/error.h"
#include "paceline/nn/module_tree.h"
#include "paceline/tensor/storage.h"

#include <gmock/gmock.h>
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

TEST(Linear, OfTwoFactorsMultipliesByBoth) {
  Linear linear(4, 3);
  linear.factorize(1);
  EXPECT_THROW(linear.factorize(1), base::InternalError);
  std::vector<std::string> names;
  for (const NamedTensor& named : named_parameters(linear)) {
    names.push_back(named.name);
    EXPECT_TRUE(named.tensor.requires_grad());
    tensor::allocate_memory(named.tensor);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("weight", "bias", "to_latent.weight"));
  const at::NoGradGuard no_grad;
  linear.to_latent()->weight.copy_(at::tensor({1.0, 2.0, 3.0, 4.0}).view({1, 4}));
  linear.weight.copy_(at::tensor({1.0, 0.0, -1.0}).view({3, 1}));
  linear.bias.fill_(0.5);
  EXPECT_TRUE(at::equal(linear.forward(at::ones({1, 4})),
                        at::tensor({10.5, 0.5, -9.5}).to(at::kFloat).view({1, 3})));
  LayerCosts costs;
  linear.count(/*rows=*/5, costs);
  linear.count(costs);
  ASSERT_EQ(costs.layers().size(), 4u);
  EXPECT_THAT(costs.layers()[0].output, ::testing::ElementsAre(5, 1));
  EXPECT_THAT(costs.layers()[1].output, ::testing::ElementsAre(5, 3));
  EXPECT_DOUBLE_EQ(costs.flops(), 6 * linear.flops());
  EXPECT_DOUBLE_EQ(linear.flops(), 2.0 * (4 + 3));
}

TEST(Linear, FactorsRestIfItsWeightDoes) {
  Linear linear(4, 3);
  linear.weight.set_requires_grad(false);
  linear.factorize(1);
  EXPECT_FALSE(linear.weight.requires_grad());
  EXPECT_FALSE(linear.to_latent()->weight.requires_grad());
  EXPECT_TRUE(linear.bias.requires_grad());
}

}  // namespace
}  // namespace paceline::nn
