#include "paceline/models/inverted_residual/inverted_residual.h"

#include "paceline/nn/module_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::models {
namespace {

std::vector<std::string> weights_of(const InvertedResidual& block) {
  std::vector<std::string> names;
  for (const nn::NamedTensor& item : nn::named_parameters(block))
    if (item.tensor.dim() == 4) names.push_back(item.name);
  return names;
}

InvertedResidual make_block(const InvertedResidualConfig& config, double drop_path_rate = 0.0) {
  InvertedResidual block(config, {}, drop_path_rate, 0);
  const at::NoGradGuard no_grad;
  for (const nn::NamedTensor& item : nn::named_parameters(block))
    if (item.tensor.dim() == 4) item.tensor.fill_(0.1);
  return block;
}

TEST(InvertedResidual, ChannelsAreRoundedToEightsAndNeverByATenth) {
  EXPECT_EQ(rounded_channels(1), 8);
  EXPECT_EQ(rounded_channels(16), 16);
  EXPECT_EQ(rounded_channels(35.2), 32);
  EXPECT_EQ(rounded_channels(11), 16);  // 8 would be below nine tenths
}

TEST(InvertedResidual, HasTheLayersThatItsConfigAsksFor) {
  using testing::ElementsAre;
  const InvertedResidualConfig config{
      .in_channels = 8, .expanded_channels = 16, .out_channels = 8, .squeeze_channels = 4};
  EXPECT_THAT(weights_of(make_block(config)),
              ElementsAre("block.0.0.weight", "block.1.0.weight", "block.2.fc1.weight",
                          "block.2.fc2.weight", "block.3.0.weight"));
  const InvertedResidualConfig same{.in_channels = 8, .expanded_channels = 8, .out_channels = 16};
  EXPECT_THAT(weights_of(make_block(same)), ElementsAre("block.0.0.weight", "block.1.0.weight"));
  InvertedResidualConfig fused = same;
  fused.fused = true;
  EXPECT_THAT(weights_of(make_block(fused)), ElementsAre("block.0.0.weight"));
  fused.expanded_channels = 16;
  EXPECT_THAT(weights_of(make_block(fused)), ElementsAre("block.0.0.weight", "block.1.0.weight"));
}

TEST(InvertedResidual, DroppedPathLeavesTheIdentityWhereThereIsOne) {
  const at::Tensor x = at::linspace(-1, 1, 2 * 8 * 4 * 4).view({2, 8, 4, 4});
  InvertedResidualConfig config{.in_channels = 8, .expanded_channels = 16, .out_channels = 8};
  EXPECT_TRUE(at::equal(make_block(config, 1.0).forward(x, {}), x));
  config.stride = 2;
  const InvertedResidual strided = make_block(config, 1.0);
  nn::ImageSize size{4, 4};
  nn::LayerCosts costs;
  strided.count(size, costs);
  EXPECT_DOUBLE_EQ(costs.flops(), 2.0 * (16 * 8 * 16 + 16 * 9 * 4 + 8 * 16 * 4));
  EXPECT_EQ(size.width, 2);
  EXPECT_EQ(strided.forward(x, {}).sizes(), (std::vector<std::int64_t>{2, 8, 2, 2}));
}

}  // namespace
}  // namespace paceline::models
