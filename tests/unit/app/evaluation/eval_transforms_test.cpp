#include "paceline/app/evaluation/eval_transforms.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/named/presets.h"

#include <cstring>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// "resize 256, center_crop 224, normalize".
std::string names(const std::vector<data::TransformConfig>& transforms) {
  std::string text;
  for (const data::TransformConfig& transform : transforms) {
    text += (text.empty() ? "" : ", ") + std::string(transform->name());
    if (const auto* resize = transform.get_if<data::ResizeConfig>())
      text += " " + resize->size.to_string();
    if (const auto* crop = transform.get_if<data::CenterCropConfig>())
      text += " " + crop->size.to_string();
  }
  return text;
}

TEST(EvalTransforms, SizesAndPercentagesAreTimms) {
  const auto usual = data::imagenet_eval();
  EXPECT_EQ(names(with_views(usual, {})), "resize 256, center_crop 224, normalize");
  EXPECT_EQ(names(with_views(usual, {.size = 288})), "resize 329, center_crop 288, normalize");
  EXPECT_EQ(names(with_views(usual, {.crop_pct = 0.95})), "resize 235, center_crop 224, normalize");
  EXPECT_EQ(names(with_views(usual, {.size = 320, .crop_pct = 1.0})),
            "resize 320, center_crop 320, normalize");
}

TEST(EvalTransforms, WhatIsMissingIsPutIn) {
  EXPECT_EQ(names(with_views(data::cifar_eval(), {.size = 64})),
            "resize 64, center_crop 64, normalize");
  const std::vector<data::TransformConfig> resized{data::ResizeConfig{.size = {96, 128}}};
  EXPECT_EQ(names(with_views(resized, {.crop_pct = 0.5})),
            "resize [192, 256], center_crop [96, 128]");
  EXPECT_THAT([] { with_views({data::NormalizeConfig{}}, {.size = 64}); },
              ThrowsMessage<base::ConfigError>(HasSubstr("have neither")));
}

/// Raw pixels whose red is the column, and green the row.
data::StoredSample ramp(int height, int width) {
  data::StoredSample sample;
  sample.width = width;
  sample.height = height;
  sample.label = 7;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x)
      for (const int value : {x, y, 0}) sample.bytes.push_back(static_cast<std::uint8_t>(value));
  }
  return sample;
}

TEST(EvalTransforms, FiveCropsAreTheMiddleAndTheCorners) {
  const data::NormalizeConfig plain{{0, 0, 0}, {1 / 255.0, 1 / 255.0, 1 / 255.0}};
  const auto maker = make_five_crops({data::CenterCropConfig{.size = 4}, plain},
                                     /*channels_last=*/true);
  ASSERT_EQ(maker->fields().size(), 6u);
  EXPECT_EQ(maker->fields().front().name, data::kImagesField);
  EXPECT_EQ(maker->fields().back().name, data::kLabelsField);
  std::vector<std::vector<float>> images(5, std::vector<float>(4 * 4 * 3));
  std::int64_t label = 0;
  std::vector<std::byte*> targets;
  for (auto& image : images) targets.push_back(reinterpret_cast<std::byte*>(image.data()));
  targets.push_back(reinterpret_cast<std::byte*>(&label));
  data::TransformScratch scratch;
  maker->make(ramp(10, 14), {}, scratch, targets);
  EXPECT_EQ(label, 7);
  std::vector<std::pair<int, int>> corners;  // column and row of each piece's first pixel
  for (const auto& image : images) {
    corners.emplace_back(std::lround(image[0]), std::lround(image[1]));
  }
  EXPECT_THAT(corners, ElementsAre(std::pair(5, 3), std::pair(0, 0), std::pair(10, 0),
                                   std::pair(0, 6), std::pair(10, 6)));
  EXPECT_THAT([&] { maker->make(ramp(3, 14), {}, scratch, targets); },
              ThrowsMessage<base::DataError>(HasSubstr("smaller --crop-pct")));
  EXPECT_THAT(
      [&] {
        make_five_crops({data::ResizeConfig{.size = {4, 4}}}, true);
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("--ten-crop")));
}

}  // namespace
}  // namespace paceline::app
