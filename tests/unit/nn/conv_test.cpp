#include "paceline/nn/conv.h"

#include "paceline/base/error.h"
#include "paceline/nn/layer_costs.h"
#include "paceline/nn/module_tree.h"
#include "paceline/tensor/autocast.h"
#include "paceline/tensor/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(Conv2d, ConvolvesWithStrideAndPadding) {
  Conv2d conv(1, 1, 3, {.stride = 2, .padding = 1, .bias = true});
  {
    const at::NoGradGuard no_grad;
    conv.weight.fill_(1.0);
    conv.bias.fill_(0.5);
  }
  const at::Tensor y = conv.forward(at::ones({1, 1, 4, 4}));
  // Windows that hang over the border see fewer ones: 2x2, 2x3, 3x2 and 3x3.
  EXPECT_TRUE(
      at::equal(y.view({2, 2}), at::tensor({4.5, 6.5, 6.5, 9.5}).view({2, 2}).to(at::kFloat)));
}

TEST(Conv2d, ForetellsItsOutputSizeAndFlops) {
  const Conv2d conv(3, 64, 7, {.stride = 2, .padding = 3});
  const ImageSize size = conv.output_size({224, 225});
  EXPECT_EQ(size.height, 112);
  EXPECT_EQ(size.width, 113);
  const at::NoGradGuard no_grad;
  const at::Tensor y = conv.forward(at::ones({1, 3, 32, 33}));
  const ImageSize small = conv.output_size({32, 33});
  EXPECT_EQ(y.size(2), small.height);
  EXPECT_EQ(y.size(3), small.width);
  EXPECT_DOUBLE_EQ(conv.flops({224, 225}), 2.0 * 64 * 3 * 49 * 112 * 113);
}

TEST(Conv2d, GroupsSeeTheirOwnChannelsOnly) {
  const Conv2d conv(6, 4, 3, {.padding = 1, .groups = 2});
  EXPECT_EQ(conv.weight.sizes(), (std::vector<std::int64_t>{4, 3, 3, 3}));
  EXPECT_DOUBLE_EQ(conv.flops({8, 9}), 2.0 * 4 * 3 * 9 * 8 * 9);
  const at::NoGradGuard no_grad;
  conv.weight.fill_(1.0);
  at::Tensor x = at::zeros({1, 6, 3, 3});
  x.slice(1, 3, 6).fill_(1.0);
  const at::Tensor middle = conv.forward(x).select(3, 1).select(2, 1);
  EXPECT_TRUE(at::equal(middle.view({4}), at::tensor({0.0F, 0.0F, 27.0F, 27.0F})));
}

TEST(Conv2d, RegistersABiasOnlyWhenAskedTo) {
  EXPECT_EQ(Conv2d(1, 1, 1, {}).named_parameters().size(), 1u);
  EXPECT_EQ(Conv2d(1, 1, 1, {.bias = true}).named_parameters().size(), 2u);
}

TEST(Conv2d, OfTwoFactorsComputesTheirProduct) {
  const at::NoGradGuard no_grad;
  Conv2d conv(3, 6, 3, {.stride = 2, .padding = 1});
  set_dtype(conv, at::kDouble);
  const std::int64_t whole = conv.weight.numel();
  conv.factorize(2);
  EXPECT_FALSE(conv.is_plain());
  std::vector<std::string> names;
  std::int64_t index = 0;
  for (const NamedTensor& named : named_parameters(conv)) {
    names.push_back(named.name);
    EXPECT_FALSE(tensor::has_memory(named.tensor)) << named.name;
    EXPECT_EQ(named.tensor.scalar_type(), at::kDouble) << named.name;
    tensor::allocate_memory(named.tensor);
    named.tensor.copy_(
        at::arange(named.tensor.numel()).add(++index).sin().view(named.tensor.sizes()));
  }
  EXPECT_THAT(names, ::testing::ElementsAre("weight", "bias", "to_latent.weight"));
  const at::Tensor product =
      conv.weight.flatten(1).matmul(conv.to_latent()->weight.flatten(1)).view({6, 3, 3, 3});
  EXPECT_EQ(product.numel(), whole);
  const at::Tensor x = at::arange(3 * 5 * 6, at::kDouble).cos().view({1, 3, 5, 6});
  EXPECT_TRUE(at::allclose(conv.forward(x), at::conv2d(x, product, conv.bias, 2, 1), 1e-12, 1e-12));
  EXPECT_EQ(conv.in_channels(), 3);
  EXPECT_THROW(conv.factorize(1), base::InternalError);
}

TEST(Conv2d, CountsItsFactorsForThemselves) {
  Conv2d conv(3, 6, 3, {.stride = 2, .padding = 1});
  conv.factorize(2);
  LayerCosts costs;
  ImageSize size{5, 6};
  conv.count(size, costs);
  EXPECT_EQ(size.height, 3);
  ASSERT_EQ(costs.layers().size(), 2u);
  EXPECT_EQ(costs.layers()[0].layer, conv.to_latent().get());
  EXPECT_DOUBLE_EQ(costs.layers()[0].flops, 2.0 * 2 * 27 * 9);
  EXPECT_THAT(costs.layers()[0].output, ::testing::ElementsAre(2, 3, 3));
  EXPECT_DOUBLE_EQ(costs.layers()[1].flops, 2.0 * 6 * 2 * 9);
  EXPECT_DOUBLE_EQ(conv.flops({5, 6}), costs.flops());
}

TEST(Conv2d, FactorsAreTrainedIfItsWeightIs) {
  Conv2d conv(3, 6, 3, {});
  conv.weight.set_requires_grad(false);
  conv.factorize(2);
  for (const NamedTensor& named : named_parameters(conv))
    EXPECT_FALSE(named.tensor.requires_grad()) << named.name;
  Conv2d trained(3, 6, 3, {});
  trained.factorize(2);
  for (const NamedTensor& named : named_parameters(trained))
    EXPECT_TRUE(named.tensor.requires_grad()) << named.name;
}

TEST(Conv2d, ComputesInTheTypeOfAutocast) {
  const Conv2d conv(3, 4, 1, {});
  const tensor::AutocastGuard autocast(at::kCPU, at::kBFloat16);
  EXPECT_EQ(conv.forward(at::ones({1, 3, 2, 2})).scalar_type(), at::kBFloat16);
}

}  // namespace
}  // namespace paceline::nn
