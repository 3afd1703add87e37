#include "paceline/data/transforms/plan.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <gmock/gmock.h>

namespace paceline::data {
namespace {

base::Philox draws_of(std::uint64_t position) {
  return {9, base::DrawPurpose::kAugmentation, 2, position};
}

Plan plan_of(const TransformConfig& transform, ImageSize image, std::uint64_t position) {
  Plan plan;
  base::Philox draws = draws_of(position);
  draw_steps(transform, image, draws, plan);
  return plan;
}

Box crop_of(const TransformConfig& transform, ImageSize image, std::uint64_t position) {
  return std::get<CropStep>(plan_of(transform, image, position).at(0)).box;
}

TEST(Plan, RandomResizedCropDrawsAreaRatioTopLeft) {
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

TEST(Plan, RandomResizedCropKeepsToItsRanges) {
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

TEST(Plan, RandomResizedCropEndsInItsSize) {
  const Plan plan = plan_of(
      RandomResizedCropConfig{.size = 64, .interpolation = Interpolation::kBicubic}, {90, 80}, 1);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(std::get<ResizeStep>(plan[1]).size, (ImageSize{64, 64}));
  EXPECT_EQ(std::get<ResizeStep>(plan[1]).interpolation, Interpolation::kBicubic);
}

TEST(Plan, RandomCropReachesEveryPlaceOfThePaddedImage) {
  std::map<int, int> tops;
  std::map<int, int> lefts;
  for (std::uint64_t position = 0; position < 2000; ++position) {
    const Box box = crop_of(RandomCropConfig{.size = 32, .padding = 4}, {32, 32}, position);
    EXPECT_EQ(box.size(), (ImageSize{32, 32}));
    ++tops[box.top];
    ++lefts[box.left];
  }
  for (const auto& counts : {tops, lefts}) {
    EXPECT_EQ(counts.size(), 9u);
    EXPECT_EQ(counts.begin()->first, -4);
    for (const auto& [place, count] : counts) EXPECT_NEAR(count, 2000 / 9, 60) << place;
  }
}

TEST(Plan, RandomCropRefusesAnImageThatIsTooSmall) {
  EXPECT_THAT(
      [] {
        plan_of(RandomCropConfig{.size = 32, .padding = 1}, {40, 29}, 0);
      },
      testing::ThrowsMessage<base::DataError>(testing::HasSubstr("image has 29 x 40")));
}

TEST(Plan, FlipsWithItsProbability) {
  int flips = 0;
  for (std::uint64_t position = 0; position < 4000; ++position) {
    flips +=
        static_cast<int>(plan_of(RandomHorizontalFlipConfig{.p = 0.3}, {2, 2}, position).size());
  }
  EXPECT_NEAR(flips, 1200, 100);
  EXPECT_TRUE(plan_of(RandomHorizontalFlipConfig{.p = 0.0}, {2, 2}, 0).empty());
  EXPECT_EQ(plan_of(RandomHorizontalFlipConfig{.p = 1.0}, {2, 2}, 0).size(), 1u);
}

TEST(Plan, MirrorsRowsAndDrainsColourWithTheirProbabilities) {
  int flips = 0;
  int greys = 0;
  for (std::uint64_t position = 0; position < 4000; ++position) {
    flips += static_cast<int>(plan_of(RandomVerticalFlipConfig{}, {2, 2}, position).size());
    for (const Step& step : plan_of(RandomGrayscaleConfig{}, {2, 2}, position)) {
      EXPECT_EQ(std::get<SaturationStep>(step).factor, 0.0f);
      ++greys;
    }
  }
  EXPECT_NEAR(flips, 2000, 120);
  EXPECT_NEAR(greys, 400, 80);
}

TEST(Plan, RandomRotationTakesAnyAngleOfItsRange) {
  double sum = 0;
  for (std::uint64_t position = 0; position < 2000; ++position) {
    const Plan plan =
        plan_of(RandomRotationConfig{.degrees = {10, 30}, .fill = {1, 2, 255}}, {60, 80}, position);
    const auto& step = std::get<AffineStep>(plan.at(0));
    EXPECT_EQ(step.fill, (FillColor{1, 2, 255}));
    const double angle = -std::asin(step.matrix[1]) * 180 / 3.14159265358979;
    EXPECT_GE(angle, 10);
    EXPECT_LE(angle, 30);
    sum += angle;
    // The middle stays.
    EXPECT_NEAR(step.matrix[0] * 40 + step.matrix[1] * 30 + step.matrix[2], 40, 1e-9);
  }
  EXPECT_NEAR(sum / 2000, 20, 0.5);
}

TEST(Plan, RandomAffineKeepsToItsRanges) {
  const RandomAffineConfig config = {.translate = {0.1, 0.25},
                                     .scale = {0.5, 2.0},
                                     .interpolation = AffineInterpolation::kBilinear};
  double highest = 0;
  double farthest = 0;
  for (std::uint64_t position = 0; position < 2000; ++position) {
    const auto step = std::get<AffineStep>(plan_of(config, {80, 60}, position).at(0));
    EXPECT_EQ(step.interpolation, AffineInterpolation::kBilinear);
    const double scale = 1 / step.matrix[0];
    EXPECT_GE(scale, 0.5 - 1e-9);
    EXPECT_LE(scale, 2.0 + 1e-9);
    highest = std::max(highest, scale);
    // Where the middle of the result comes from tells the translation: whole pixels, at most 6, 20.
    const double right = (30 - (step.matrix[0] * 30 + step.matrix[2])) * scale;
    const double down = (40 - (step.matrix[4] * 40 + step.matrix[5])) * scale;
    EXPECT_NEAR(right, std::round(right), 1e-9);
    EXPECT_LE(std::abs(right), 6 + 1e-9);
    EXPECT_LE(std::abs(down), 20 + 1e-9);
    farthest = std::max(farthest, std::abs(down));
  }
  EXPECT_GT(highest, 1.95);
  EXPECT_NEAR(farthest, 20, 1e-9);
  const auto sheared = std::get<AffineStep>(
      plan_of(RandomAffineConfig{.shear_x = {45, 45}, .shear_y = {0, 0}}, {80, 60}, 0).at(0));
  EXPECT_NEAR(sheared.matrix[1], 1.0, 1e-9);
}

TEST(Plan, RandomErasingFitsItsBoxes) {
  constexpr int kCount = 8000;
  int boxes = 0;
  double area = 0;
  for (std::uint64_t position = 0; position < kCount; ++position) {
    const Plan plan = plan_of(RandomErasingConfig{.value = {1, -2, 3}}, {60, 90}, position);
    if (plan.empty()) continue;
    ++boxes;
    const auto& step = std::get<EraseStep>(plan.at(0));
    EXPECT_EQ(step.value, (std::array<float, 3>{1, -2, 3}));
    ASSERT_TRUE(contains(whole({60, 90}), step.box));
    EXPECT_LT(step.box.height, 60);
    EXPECT_LT(step.box.width, 90);
    area += static_cast<double>(step.box.height) * step.box.width / (60 * 90);
  }
  EXPECT_NEAR(boxes, kCount / 2, 150);
  // torchvision's mean over 40,000 draws; large flat boxes are drawn again more often.
  EXPECT_NEAR(area / boxes, 0.1698, 0.005);
}

/// For strengths of 0.4, 1.5, 0.2 and 0.1.
void check_range(const Step& step) {
  if (const auto* brightness = std::get_if<BrightnessStep>(&step)) {
    EXPECT_TRUE(brightness->factor >= 0.6f && brightness->factor <= 1.4f) << brightness->factor;
  } else if (const auto* contrast = std::get_if<ContrastStep>(&step)) {
    EXPECT_TRUE(contrast->factor >= 0.0f && contrast->factor <= 2.5f) << contrast->factor;
  } else if (const auto* saturation = std::get_if<SaturationStep>(&step)) {
    EXPECT_TRUE(saturation->factor >= 0.8f && saturation->factor <= 1.2f) << saturation->factor;
  } else {
    const double turn = std::get<HueStep>(step).turn;
    EXPECT_TRUE(turn >= -0.1 && turn <= 0.1) << turn;
  }
}

TEST(Plan, ColorJitterTakesAllOrdersAndRanges) {
  const ColorJitterConfig config = {
      .brightness = 0.4, .contrast = 1.5, .saturation = 0.2, .hue = 0.1};
  std::map<std::string, int> orders;
  for (std::uint64_t position = 0; position < 4800; ++position) {
    std::string order;
    for (const Step& step : plan_of(config, {2, 2}, position)) {
      order += static_cast<char>('0' + step.index());
      check_range(step);
    }
    ++orders[order];
  }
  EXPECT_EQ(orders.size(), 24u);
  for (const auto& [order, count] : orders) EXPECT_NEAR(count, 200, 75) << order;
}

TEST(Plan, ColorJitterLeavesOutWhatIsZero) {
  const Plan plan = plan_of(ColorJitterConfig{.saturation = 0.5}, {2, 2}, 3);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<SaturationStep>(plan[0]));
  EXPECT_TRUE(plan_of(ColorJitterConfig{}, {2, 2}, 3).empty());
}

TEST(Plan, ResizeRoundsTheLongerSideDown) {
  EXPECT_EQ(std::get<ResizeStep>(plan_of(ResizeConfig{.size = 256}, {375, 500}, 0)[0]).size,
            (ImageSize{256, 341}));
  EXPECT_EQ(std::get<ResizeStep>(plan_of(ResizeConfig{.size = 256}, {500, 375}, 0)[0]).size,
            (ImageSize{341, 256}));
}

TEST(Plan, ResizeRefusesAnImageThatIsTooNarrow) {
  Plan plan;
  base::Philox draws(0, base::DrawPurpose::kAugmentation, 0, 0);
  EXPECT_THAT(
      [&] {
        draw_steps(ResizeConfig{100'000}, {1'000'000, 1}, draws, plan);
      },
      ::testing::ThrowsMessage<base::DataError>(
          ::testing::HasSubstr("1 x 1000000 pixels 100000000000 long")));
}

TEST(Plan, CenterCropRoundsHalvesToEven) {
  // (5 - 4) / 2 = 0.5 goes to 0, (7 - 4) / 2 = 1.5 to 2.
  EXPECT_EQ(crop_of(CenterCropConfig{.size = 4}, {5, 7}, 0), (Box{0, 2, 4, 4}));
  // Three missing columns: one in front, two behind.
  EXPECT_EQ(crop_of(CenterCropConfig{.size = 6}, {6, 3}, 0), (Box{0, -1, 6, 6}));
}

TEST(Plan, DependsOnTheKeyAlone) {
  const RandomResizedCropConfig config;
  EXPECT_EQ(crop_of(config, {300, 400}, 5), crop_of(config, {300, 400}, 5));
  EXPECT_NE(crop_of(config, {300, 400}, 5), crop_of(config, {300, 400}, 6));
}

}  // namespace
}  // namespace paceline::data
