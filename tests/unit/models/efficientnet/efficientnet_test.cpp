#include "paceline/models/efficientnet/efficientnet.h"

#include "paceline/nn/module_tree.h"
#include "unit/models/network_expectations.h"

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

const EfficientNetShape& three_stages() {
  static const EfficientNetShape shape{
      8, {{true, 2, 3, 1, 8, 1}, {false, 2, 3, 2, 8, 2}, {false, 2, 5, 1, 8, 1}}, 16, 1e-3};
  return shape;
}

TEST(EfficientNet, DropsBySampleAndNotByBatch) {
  EfficientNet paths(three_stages(), {.num_classes = 4, .drop_rate = 0.0, .drop_path_rate = 0.9});
  expect_drops_by_sample(paths, 16);
  EfficientNet features(three_stages(), {.num_classes = 4, .drop_rate = 0.5});
  expect_drops_by_sample(features, 16);
}

TEST(EfficientNet, DepthIsRoundedUpAndWidthToEights) {
  const EfficientNet network(three_stages(), {.width_mult = 1.9, .depth_mult = 1.1});
  EXPECT_EQ(nn::units(network).size(), 2U + 3U + 2U);
  EXPECT_EQ(network.named_parameters()["features.0.0.weight"].size(0), 16);
}

TEST(EfficientNet, TakesImagesOfOtherChannels) {
  EfficientNet network(three_stages(), {.num_classes = 4, .in_channels = 1});
  network.initialize(1);
  EXPECT_EQ(network.forward_images(at::ones({2, 1, 16, 16}), {}).size(1), 4);
  EXPECT_EQ(network.in_channels(), 1);
}

TEST(EfficientNet, ImagesThatLieChannelsLastGiveTheSame) {
  EfficientNet network(three_stages(), {.num_classes = 4});
  expect_any_layout(network, 16);
}

}  // namespace
}  // namespace paceline::models
