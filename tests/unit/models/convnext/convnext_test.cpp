#include "paceline/models/convnext/convnext.h"

#include "paceline/base/error.h"
#include "unit/models/network_expectations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::models {
namespace {

constexpr ConvNextConfig kTinyConvNext{
    .num_classes = 5, .depths = {1, 1, 2, 1}, .dims = {8, 8, 16, 16}};

TEST(ConvNext, DropsBySampleAndNotByBatch) {
  ConvNextConfig config = kTinyConvNext;
  config.ls_init_value = 1.0;
  config.drop_path_rate = 0.8;
  ConvNext paths(config);
  expect_drops_by_sample(paths, 32);
  config.drop_path_rate = 0.0;
  config.drop_rate = 0.5;
  ConvNext features(config);
  expect_drops_by_sample(features, 32);
}

TEST(ConvNext, DropPathGrowsFromBlockToBlock) {
  ConvNextConfig config = kTinyConvNext;
  config.drop_path_rate = 0.4;
  std::vector<double> rates;
  for (const auto& module : ConvNext(config).modules(/*include_self=*/false))
    if (const auto* path = module->as<nn::DropPath>()) rates.push_back(path->rule().rate);
  EXPECT_THAT(rates, testing::ElementsAre(0.0, testing::DoubleEq(0.1), testing::DoubleEq(0.2),
                                          testing::DoubleEq(0.3), testing::DoubleEq(0.4)));
}

TEST(ConvNext, LayerScaleStartsAsTheUserWants) {
  ConvNextConfig config = kTinyConvNext;
  config.ls_init_value = 0.25;
  const ConvNext scaled(config);
  scaled.initialize(1);
  const auto parameters = scaled.named_parameters();
  EXPECT_TRUE(at::equal(parameters["stages.2.blocks.1.gamma"], at::full({16}, 0.25)));
  config.ls_init_value = std::nullopt;
  EXPECT_EQ(ConvNext(config).named_parameters().find("stages.2.blocks.1.gamma"), nullptr);
}

TEST(ConvNext, TakesImagesOfOtherChannels) {
  ConvNextConfig config = kTinyConvNext;
  config.in_channels = 2;
  ConvNext network(config);
  network.initialize(1);
  EXPECT_EQ(network.forward_images(at::ones({1, 2, 32, 40}), {}).size(1), 5);
  EXPECT_GT(network.flops_per_sample({{"images", {2, 32, 40}}}), 0.0);
  EXPECT_THAT(
      [&] {
        network.flops_per_sample({{"images", {3, 32, 32}}});
      },
      testing::ThrowsMessage<base::ConfigError>(
          testing::AllOf(testing::HasSubstr("images of 2 channels"),
                         testing::HasSubstr("set model.in_channels=3"))));
}

TEST(ConvNext, NamesTheSizesItCannotTake) {
  ConvNext network(kTinyConvNext);
  const auto small = testing::ThrowsMessage<base::ConfigError>(
      testing::HasSubstr("32x32 pixels and more, got 31x64"));
  EXPECT_THAT([&] { network.flops_per_image(31, 64); }, small);
  EXPECT_THAT([&] { network.forward_images(at::ones({1, 3, 31, 64}), {}); }, small);
}

TEST(ConvNext, ImagesThatLieChannelsLastGiveTheSame) {
  ConvNext network(kTinyConvNext);
  expect_any_layout(network, 32);
}

}  // namespace
}  // namespace paceline::models
