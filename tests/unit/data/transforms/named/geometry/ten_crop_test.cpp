#include "paceline/data/transforms/named/geometry/ten_crop.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/pipeline.h"
#include "unit/data/transforms/named/drawn_plan.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

Plan plan_of_view(int view, bool vertical_flip = false) {
  Plan plan;
  append_crop_view(view, {60, 91}, {20, 30}, vertical_flip, plan);
  return plan;
}

TEST(TenCrop, ViewsAreCornersMiddleAndTheirMirrorImages) {
  EXPECT_EQ(std::get<CropStep>(plan_of_view(0).at(0)).box, (Box{0, 0, 20, 30}));
  EXPECT_EQ(std::get<CropStep>(plan_of_view(1).at(0)).box, (Box{0, 61, 20, 30}));
  EXPECT_EQ(std::get<CropStep>(plan_of_view(2).at(0)).box, (Box{40, 0, 20, 30}));
  EXPECT_EQ(std::get<CropStep>(plan_of_view(3).at(0)).box, (Box{40, 61, 20, 30}));
  EXPECT_EQ(std::get<CropStep>(plan_of_view(4).at(0)).box, (Box{20, 30, 20, 30}));
  EXPECT_TRUE(std::holds_alternative<FlipStep>(plan_of_view(6).at(0)));
  EXPECT_EQ(std::get<CropStep>(plan_of_view(6).at(1)).box, (Box{0, 61, 20, 30}));
  EXPECT_TRUE(std::holds_alternative<VerticalFlipStep>(plan_of_view(9, true).at(0)));
}

TEST(TenCrop, TrainingDrawsOneOfAllViews) {
  std::set<std::pair<int, int>> corners;
  int num_flipped = 0;
  for (std::uint64_t position = 0; position < 400; ++position) {
    const Plan plan = plan_of(TenCropConfig{.size = 20}, {60, 91}, position);
    const Box box = std::get<CropStep>(plan.back()).box;
    corners.emplace(box.top, box.left);
    if (plan.size() == 2) ++num_flipped;
  }
  EXPECT_EQ(corners.size(), 5u);
  EXPECT_NEAR(num_flipped, 200, 50);
  for (std::uint64_t position = 0; position < 50; ++position)
    EXPECT_EQ(plan_of(FiveCropConfig{.size = 20}, {60, 91}, position).size(), 1u);
}

TEST(TenCrop, RefusesImagesThatAreSmaller) {
  Plan plan;
  EXPECT_THAT(
      [&] {
        append_crop_view(0, {19, 91}, {20, 30}, false, plan);
      },
      testing::ThrowsMessage<base::DataError>(
          testing::HasSubstr("cut 30 x 20 pixels, and this image has 91 x 19")));
}

TEST(TenCrop, OneTransformOfAPipelineMakesViews) {
  EXPECT_EQ(TransformPipeline({TenCropConfig{.size = 20}}).num_views(), 10);
  EXPECT_EQ(TransformPipeline({FiveCropConfig{.size = 20}}).num_views(), 5);
  EXPECT_THAT(
      [] {
        TransformPipeline({FiveCropConfig{.size = 20}, TenCropConfig{.size = 10}});
      },
      testing::ThrowsMessage<base::ConfigError>(testing::HasSubstr("ten_crop is the second")));
}

}  // namespace
}  // namespace paceline::data
