#include "paceline/models/resnet/resnet.h"

#include "paceline/nn/module_tree.h"
#include "unit/models/network_expectations.h"

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

constexpr ResNetShape kOneBlockEach{{1, 1, 1, 1}, false};

at::Tensor default_generator_state() {
  return at::globalContext().defaultGenerator(at::kCPU).get_state();
}

TEST(ResNet, ZeroInitResidualMakesBlocksPassTheirShortcutOn) {
  ResidualBlock block(64, 64, 1, /*bottleneck=*/false);
  const at::NoGradGuard no_grad;
  for (const nn::NamedTensor& item : nn::named_parameters(block)) {
    if (item.tensor.dim() == 4) item.tensor.fill_(0.01);
    if (item.name == "bn2.weight") item.tensor.zero_();
  }
  const at::Tensor input = at::linspace(0, 1, 64 * 16).view({1, 64, 4, 4});
  EXPECT_TRUE(at::equal(block.forward(input), input));

  ResNet network({{1, 1, 1, 1}, true}, {.num_classes = 4, .zero_init_residual = true});
  network.initialize(1);
  for (const nn::NamedTensor& item : nn::named_parameters(network)) {
    if (item.name.ends_with("bn3.weight")) {
      EXPECT_EQ(item.tensor.abs().sum().item<double>(), 0.0) << item.name;
    } else if (item.name.ends_with("bn2.weight")) {
      EXPECT_EQ(item.tensor.min().item<double>(), 1.0) << item.name;
    }
  }
}

TEST(ResNet, InitializeIsAFunctionOfTheSeedAndLeavesTheDefaultGenerator) {
  const at::Tensor before = default_generator_state();
  ResNet first(kOneBlockEach, {.num_classes = 10});
  ResNet second(kOneBlockEach, {.num_classes = 10});
  ResNet other(kOneBlockEach, {.num_classes = 10});
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
  const ResNet small(kResNet18, {.stem = ResNetStem::kSmall});
  const ResNet large(kResNet18, {});
  EXPECT_GT(small.flops_per_image(32, 32), 10.0 * large.flops_per_image(32, 32));
}

TEST(ResNet, ChannelsLastChangesTheLayoutAndNotTheNumbers) {
  ResNet network(kOneBlockEach, {.num_classes = 10});
  expect_any_layout(network, 64);
}

}  // namespace
}  // namespace paceline::models
