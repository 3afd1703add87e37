#include "paceline/data/transforms/named/geometry/random_resized_crop.h"

#include "unit/data/transforms/named/drawn_plan.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(RandomResizedCrop, DrawsAreaRatioTopLeft) {
  const ImageSize image = {375, 500};
  for (std::uint64_t position = 0; position < 50; ++position) {
    base::Philox draws = draws_of(position);
    const double area = 375 * 500 * draws.uniform(0.08, 1.0);
    const double ratio = std::exp(draws.uniform(std::log(3.0 / 4.0), std::log(4.0 / 3.0)));
    const int width = static_cast<int>(std::nearbyint(std::sqrt(area * ratio)));
    const int height = static_cast<int>(std::nearbyint(std::sqrt(area / ratio)));
    if (width > 500 || height > 375) continue;  // a second attempt
    const int top = static_cast<int>(draws.below(static_cast<std::uint64_t>(376 - height)));
    const int left = static_cast<int>(draws.below(static_cast<std::uint64_t>(501 - width)));
    EXPECT_EQ(crop_of(RandomResizedCropConfig{}, image, position), (Box{top, left, height, width}));
  }
}

TEST(RandomResizedCrop, KeepsToItsRanges) {
  const ImageSize image = {375, 500};
  double sum = 0;
  constexpr int kCount = 4000;
  for (std::uint64_t position = 0; position < kCount; ++position) {
    const Box box = crop_of(RandomResizedCropConfig{}, image, position);
    ASSERT_TRUE(contains(whole(image), box));
    const double ratio = static_cast<double>(box.width) / box.height;
    EXPECT_GT(ratio, 0.74);
    EXPECT_LT(ratio, 1.35);
    sum += static_cast<double>(box.height) * box.width / (375 * 500);
  }
  // torchvision's mean over 20,000 draws; large boxes are drawn again more often.
  EXPECT_NEAR(sum / kCount, 0.434, 0.015);
}

TEST(RandomResizedCrop, EndsInItsSize) {
  const Plan plan = plan_of(
      RandomResizedCropConfig{.size = 64, .interpolation = Interpolation::kBicubic}, {90, 80}, 1);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(std::get<ResizeStep>(plan[1]).size, (ImageSize{64, 64}));
  EXPECT_EQ(std::get<ResizeStep>(plan[1]).interpolation, Interpolation::kBicubic);
}

TEST(RandomResizedCrop, DependsOnTheKeyAlone) {
  const RandomResizedCropConfig config;
  EXPECT_EQ(crop_of(config, {300, 400}, 5), crop_of(config, {300, 400}, 5));
  EXPECT_NE(crop_of(config, {300, 400}, 5), crop_of(config, {300, 400}, 6));
}

}  // namespace
}  // namespace paceline::data
