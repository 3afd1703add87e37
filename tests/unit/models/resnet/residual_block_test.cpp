#include "paceline/models/resnet/residual_block.h"

#include "paceline/nn/module_tree.h"

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

at::Tensor block_input(std::int64_t channels, std::int64_t size) {
  return at::linspace(0, 1, channels * size * size).view({1, channels, size, size});
}

/// Leaves of a block its shortcut.
void silence(const ResidualBlock& block) {
  const at::NoGradGuard no_grad;
  for (const nn::NamedTensor& item : nn::named_parameters(block)) {
    if (item.tensor.dim() == 4) item.tensor.fill_(0.01);
    if (item.name == "bn2.weight") item.tensor.zero_();
  }
}

TEST(ResidualBlock, PassesItsInputOnWhereTheBranchIsZero) {
  const ResidualBlock block({.in_channels = 8, .width = 8, .out_channels = 8}, 0);
  silence(block);
  const at::Tensor input = block_input(8, 4);
  EXPECT_TRUE(at::equal(block.forward(input, {}), input));
}

TEST(ResidualBlock, PaddingKeepsPixelsAndPutsZerosAroundTheChannels) {
  const ResidualBlock block({.shortcut = ResNetShortcut::kPadding,
                             .in_channels = 2,
                             .width = 5,
                             .out_channels = 5,
                             .stride = 2},
                            0);
  silence(block);
  const at::Tensor input = block_input(2, 5);
  const at::Tensor output = block.forward(input, {});
  EXPECT_EQ(output.sizes(), (std::vector<std::int64_t>{1, 5, 3, 3}));
  EXPECT_TRUE(at::equal(output.slice(1, 1, 3), input.slice(2, 0, 5, 2).slice(3, 0, 5, 2)));
  EXPECT_EQ(output.slice(1, 0, 1).abs().sum().item<double>(), 0.0);
  EXPECT_EQ(output.slice(1, 3, 5).abs().sum().item<double>(), 0.0);
}

TEST(ResidualBlock, FlopsAreThoseOfWhatItComputes) {
  const ResidualBlockConfig plain{.in_channels = 4, .width = 8, .out_channels = 8, .stride = 2};
  const double branch = 2.0 * (8 * 4 * 9 + 8 * 8 * 9) * 3 * 3;
  const double side = 2.0 * 8 * 4 * 3 * 3;
  for (const auto& [shortcut, wanted] : {std::pair{ResNetShortcut::kProjection, branch + side},
                                         std::pair{ResNetShortcut::kAveragePool, branch + side},
                                         std::pair{ResNetShortcut::kPadding, branch}}) {
    ResidualBlockConfig config = plain;
    config.shortcut = shortcut;
    const ResidualBlock block(config, 0);
    nn::ImageSize size{5, 6};
    nn::LayerCosts costs;
    block.count(size, costs);
    EXPECT_DOUBLE_EQ(costs.flops(), wanted);
    EXPECT_EQ(size.height, 3);
    EXPECT_EQ(size.width, 3);
    const at::NoGradGuard no_grad;
    EXPECT_EQ(block.forward(at::ones({1, 4, 5, 6}), {}).sizes(),
              (std::vector<std::int64_t>{1, 8, 3, 3}));
  }
}

TEST(ResidualBlock, DropPathLeavesTheShortcut) {
  const ResidualBlock block(
      {.in_channels = 2, .width = 2, .out_channels = 2, .drop_path_rate = 1.0}, 0);
  const at::NoGradGuard no_grad;
  for (const nn::NamedTensor& item : nn::named_parameters(block)) item.tensor.fill_(0.5);
  const at::Tensor input = block_input(2, 4);
  EXPECT_TRUE(at::equal(block.forward(input, {}), input));
}

}  // namespace
}  // namespace paceline::models
