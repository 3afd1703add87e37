#include "paceline/models/resnet/resnet.h"

#include "paceline/base/error.h"
#include "paceline/nn/module_tree.h"
#include "unit/models/network_expectations.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

ResNetConfig one_block_each() { return {.num_classes = 10, .layers = {1, 1, 1, 1}}; }

at::Tensor default_generator_state() {
  return at::globalContext().defaultGenerator(at::kCPU).get_state();
}

TEST(ResNet, ZeroInitResidualIsOfTheLastNormOfABlock) {
  ResNet network({.num_classes = 4,
                  .layers = {1, 1},
                  .block = ResNetBlock::kBottleneck,
                  .width = 8,
                  .zero_init_residual = true});
  network.initialize(1);
  for (const nn::NamedTensor& item : nn::named_parameters(network)) {
    if (item.name.ends_with("bn3.weight")) {
      EXPECT_EQ(item.tensor.abs().sum().item<double>(), 0.0) << item.name;
    } else if (item.name.ends_with("bn2.weight")) {
      EXPECT_EQ(item.tensor.min().item<double>(), 1.0) << item.name;
    }
  }
}

TEST(ResNet, MosaicsWeightsHaveItsDistributions) {
  ResNetConfig config = one_block_each();
  config.weight_init = ResNetInit::kMosaic;
  ResNet network(config);
  network.initialize(1);
  for (const nn::NamedTensor& item : nn::named_parameters(network)) {
    SCOPED_TRACE(item.name);
    const at::Tensor values = item.tensor.detach();
    const double mean = values.mean().item<double>();
    if (values.dim() > 1) {  // torch.nn.init.kaiming_normal_
      const auto fan_in = static_cast<double>(values.numel() / values.size(0));
      EXPECT_NEAR(values.std().item<double>() * std::sqrt(fan_in / 2), 1.0, 0.1);
      EXPECT_NEAR(mean * std::sqrt(fan_in / 2), 0.0, 0.1);
    } else if (item.name == "fc.bias") {
      EXPECT_FLOAT_EQ(values.min().item<float>(), -std::log(static_cast<float>(values.numel())));
      EXPECT_EQ(values.min().item<float>(), values.max().item<float>());
    } else if (item.name.ends_with(".bias")) {
      EXPECT_EQ(values.abs().sum().item<double>(), 0.0);
    } else {  // torch.rand
      EXPECT_GE(values.min().item<double>(), 0.0);
      EXPECT_LT(values.max().item<double>(), 1.0);
      EXPECT_GT(values.max().item<double>() - values.min().item<double>(), 0.7);
      EXPECT_NEAR(mean, 0.5, 0.2);
    }
  }
}

TEST(ResNet, InitializeIsAFunctionOfTheSeedAndLeavesTheDefaultGenerator) {
  const at::Tensor before = default_generator_state();
  ResNet first(one_block_each());
  ResNet second(one_block_each());
  ResNet other(one_block_each());
  first.initialize(5);
  second.initialize(5);
  other.initialize(6);
  const auto a = nn::state_dict(first);
  const auto b = nn::state_dict(second);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(at::equal(a[i].tensor, b[i].tensor)) << a[i].name;
  }
  EXPECT_FALSE(at::equal(a[0].tensor, nn::state_dict(other)[0].tensor));

  first.forward_images(at::ones({2, 3, 64, 64}), {}).sum().backward();
  EXPECT_TRUE(at::equal(before, default_generator_state()));
}

TEST(ResNet, SmallStemKeepsTheResolution) {
  const ResNet small({.stem = ResNetStem::kSmall});
  const ResNet large({});
  EXPECT_GT(small.flops_per_image(32, 32), 10.0 * large.flops_per_image(32, 32));
}

TEST(ResNet, ChannelsLastChangesTheLayoutAndNotTheNumbers) {
  ResNet network(one_block_each());
  expect_any_layout(network, 64);
  for (const ResNetShortcut shortcut : {ResNetShortcut::kAveragePool, ResNetShortcut::kPadding}) {
    ResNet other({.num_classes = 10,
                  .layers = {1, 1},
                  .block = ResNetBlock::kBottleneck,
                  .width = 8,
                  .groups = 2,
                  .stem = ResNetStem::kDeep,
                  .shortcut = shortcut});
    expect_any_layout(other, 32);
  }
}

TEST(ResNet, TakesImagesOfOtherChannels) {
  for (const ResNetStem stem :
       {ResNetStem::kImagenet, ResNetStem::kSmall, ResNetStem::kDeep, ResNetStem::kDeepTiered}) {
    ResNet gray({.num_classes = 3, .in_channels = 1, .layers = {1, 1}, .width = 8, .stem = stem});
    gray.initialize(1);
    EXPECT_EQ(gray.forward_images(at::ones({2, 1, 16, 16}), {}).sizes(),
              (std::vector<std::int64_t>{2, 3}));
    EXPECT_GT(gray.flops_per_sample({{"images", {1, 16, 16}}}), 0.0);
    EXPECT_THROW(gray.flops_per_sample({{"images", {3, 16, 16}}}), base::ConfigError);
  }
}

TEST(ResNet, DropsDependOnTheSampleAndNotOnItsBatch) {
  ResNetConfig config{.num_classes = 5, .layers = {1, 2}, .width = 8, .stem = ResNetStem::kSmall};
  config.drop_rate = 0.3;
  ResNet dropout(config);
  expect_drops_by_sample(dropout, 8);
  config.drop_rate = 0.0;
  config.drop_path_rate = 0.5;
  ResNet drop_path(config);
  expect_drops_by_sample(drop_path, 8);
}

TEST(ResNet, DropPathGrowsFromTheFirstBlockToTheLast) {
  const ResNet network({.layers = {2, 1}, .width = 8, .drop_path_rate = 0.4});
  std::vector<double> rates;
  for (const auto& module : network.modules(/*include_self=*/false)) {
    if (const auto* path = module->as<nn::DropPath>()) rates.push_back(path->rule().rate);
  }
  EXPECT_EQ(rates, (std::vector<double>{0.0, 0.2, 0.4}));
}

TEST(ResNet, WhatDoesNotGoTogetherIsAProblemOfTheRecipe) {
  const auto problems_of = [](const ResNetConfig& config) {
    config::Problems problems;
    config::Schema<ResNetConfig>::validate(config, problems);
    return problems.size();
  };
  EXPECT_EQ(problems_of({}), 0u);
  EXPECT_EQ(problems_of({.groups = 2}), 1u);
  EXPECT_EQ(problems_of({.width_per_group = 128}), 1u);
  EXPECT_EQ(problems_of({.layers = std::vector<std::int64_t>(9, 1)}), 1u);
  EXPECT_EQ(problems_of({.width = 9, .stem = ResNetStem::kDeep}), 1u);
  EXPECT_EQ(problems_of({.width = 12, .stem = ResNetStem::kDeepTiered}), 1u);
  EXPECT_EQ(problems_of({.block = ResNetBlock::kBottleneck, .width = 8, .width_per_group = 4}), 1u);
  EXPECT_THROW(ResNet({.groups = 2}), base::ConfigError);
}

}  // namespace
}  // namespace paceline::models
