#include "paceline/models/convnext/convnext_block.h"

#include "paceline/nn/init.h"
#include "paceline/nn/module_tree.h"

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

at::Tensor feature_map() { return at::linspace(-3, 3, 2 * 8 * 5 * 6).sin().view({2, 8, 5, 6}); }

void draw(const torch::nn::Module& block) {
  std::uint64_t index = 0;
  for (const nn::NamedTensor& item : nn::named_parameters(block))
    tensor::fill_normal(item.tensor, 0.0, 0.3, {.seed = 2, .index = index++});
}

TEST(ConvNextBlock, LayerScaleOfZeroLeavesTheIdentity) {
  const ConvNextBlock block({.dim = 8}, 0);
  draw(block);
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(at::equal(block.forward(feature_map(), {}), feature_map()));
  nn::named_parameters(block).front().tensor.zero_();  // gamma
  EXPECT_TRUE(at::equal(block.forward(feature_map(), {}), feature_map()));
}

TEST(ConvNextBlock, WhatItReturnsLiesChannelsLastHoweverItsInputLies) {
  const ConvNextBlock block({.dim = 8}, 0);
  draw(block);
  const auto channels_last = at::MemoryFormat::ChannelsLast;
  const at::NoGradGuard no_grad;
  const at::Tensor y = block.forward(feature_map(), {});
  EXPECT_TRUE(y.is_contiguous(channels_last));
  EXPECT_TRUE(
      at::allclose(block.forward(feature_map().contiguous(channels_last), {}), y, 1e-5, 1e-5));
}

TEST(ConvNextBlock, ConvolutionsOfOnePixelAreLinearLayersByAnotherShape) {
  const ConvNextBlock linear({.dim = 8, .use_grn = true}, 0);
  const ConvNextBlock convolution({.dim = 8, .use_grn = true, .conv_mlp = true}, 0);
  draw(linear);
  draw(convolution);
  EXPECT_EQ(nn::named_parameters(convolution)[5].tensor.sizes(),
            (std::vector<std::int64_t>{32, 8, 1, 1}));
  const auto gradient = [](const ConvNextBlock& block) {
    block.forward(feature_map(), {}).square().sum().backward();
    return nn::named_parameters(block)[5].tensor.grad();
  };
  EXPECT_TRUE(at::equal(gradient(convolution).flatten(1), gradient(linear)));
}

TEST(ConvNextDownsample, HalvesTheImage) {
  const ConvNextDownsample downsample(8, 16);
  draw(downsample);
  nn::ImageSize size{5, 6};
  nn::LayerCosts costs;
  downsample.count(size, costs);
  EXPECT_DOUBLE_EQ(costs.flops(), 2.0 * 16 * 8 * 4 * 2 * 3);
  EXPECT_EQ(downsample.forward(feature_map()).sizes(),
            (std::vector<std::int64_t>{2, 16, size.height, size.width}));
}

}  // namespace
}  // namespace paceline::models
