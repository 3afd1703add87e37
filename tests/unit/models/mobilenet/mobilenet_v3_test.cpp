#include "paceline/models/mobilenet/mobilenet_v3.h"

#include "unit/models/network_expectations.h"

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

const MobileNetV3Shape& three_blocks() {
  static const MobileNetV3Shape shape{{{3, 16, 16, true, nn::Activation::kRelu, 1},
                                       {5, 24, 16, true, nn::Activation::kHardswish, 1},
                                       {3, 32, 16, false, nn::Activation::kHardswish, 1}},
                                      16};
  return shape;
}

TEST(MobileNetV3, DropsBySampleAndNotByBatch) {
  MobileNetV3 paths(three_blocks(), {.num_classes = 4, .drop_rate = 0.0, .drop_path_rate = 0.9});
  expect_drops_by_sample(paths, 16);
  MobileNetV3 features(three_blocks(), {.num_classes = 4, .drop_rate = 0.5});
  expect_drops_by_sample(features, 16);
}

TEST(MobileNetV3, TakesImagesOfOtherChannels) {
  MobileNetV3 network(three_blocks(), {.num_classes = 4, .in_channels = 1});
  network.initialize(1);
  EXPECT_EQ(network.forward_images(at::ones({2, 1, 16, 16}), {}).size(1), 4);
  EXPECT_EQ(network.in_channels(), 1);
}

TEST(MobileNetV3, ImagesThatLieChannelsLastGiveTheSame) {
  MobileNetV3 network(three_blocks(), {.num_classes = 4});
  expect_any_layout(network, 16);
}

}  // namespace
}  // namespace paceline::models
