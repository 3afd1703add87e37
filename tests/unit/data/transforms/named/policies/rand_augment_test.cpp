#include "paceline/data/transforms/named/policies/rand_augment.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/named/policies/timm_rand_augment.h"
#include "support/data/chi_square.h"
#include "unit/data/transforms/named/drawn_plan.h"

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// The place of the operation that made a step in Composer's sets.
std::size_t composer_place(const Step& step) {
  if (const auto* affine = std::get_if<AffineStep>(&step)) {
    const AffineMatrix& m = affine->matrix;
    if (m[1] != 0 && m[3] != 0) return 3;
    if (m[1] != 0) return 5;
    if (m[3] != 0) return 6;
    return m[2] != 0 ? 7 : 8;
  }
  if (std::holds_alternative<AutocontrastStep>(step)) return 0;
  if (std::holds_alternative<EqualizeStep>(step)) return 1;
  if (std::holds_alternative<PosterizeStep>(step)) return 2;
  if (std::holds_alternative<SolarizeStep>(step)) return 4;
  if (std::holds_alternative<SaturationStep>(step)) return 9;
  if (std::holds_alternative<ContrastStep>(step)) return 10;
  if (std::holds_alternative<BrightnessStep>(step)) return 11;
  return 12;
}

/// Rotations by no degree and moves by no pixel look like one another; these are rare.
bool moves_nothing(const Step& step) {
  const auto* affine = std::get_if<AffineStep>(&step);
  return affine != nullptr && affine->matrix == AffineMatrix{1, 0, 0, 0, 1, 0};
}

TEST(RandAugmentFamilies, ComposersOperationsAreAsLikely) {
  const TransformConfig transform =
      RandAugmentConfig{.family = AugmentFamily::kComposer, .num_ops = 3};
  std::array<int, 13> counts = {};
  int still = 0;
  for (std::uint64_t position = 0; position < 20000; ++position) {
    const Plan plan = plan_of(transform, {2240, 2240}, position);
    ASSERT_EQ(plan.size(), 3u);
    for (const Step& step : plan) {
      if (moves_nothing(step)) {
        ++still;
      } else {
        ++counts[composer_place(step)];
      }
    }
  }
  // Of rotations those below one degree: (1/3 - 0.1) of 8.9 levels.
  std::vector<double> expected(13, 1.0);
  expected[3] = 1 - (1 / 3.0 - 0.1) / 8.9;
  EXPECT_LT(chi_square_deviations(counts, expected), 4);
  EXPECT_NEAR(still, 60000 / 13.0 * (1 - expected[3]), 60);
}

TEST(RandAugmentFamilies, ComposersDefaultsAreTwoOfSeverityNine) {
  int moved = 0;
  for (std::uint64_t position = 0; position < 3000; ++position) {
    const Plan plan =
        plan_of(RandAugmentConfig{.family = AugmentFamily::kComposer}, {300, 300}, position);
    ASSERT_EQ(plan.size(), 2u);
    for (const Step& step : plan) {
      if (composer_place(step) != 7) continue;
      const double pixels = std::abs(std::get<AffineStep>(step).matrix[2]);
      EXPECT_LE(pixels, 90);
      moved += pixels > 60;
    }
  }
  EXPECT_GT(moved, 100);  // a third of 2 / 13 of 3000
}

TEST(RandAugmentFamilies, ComposersSetsDiffer) {
  bool is_ever_bright = false;
  for (std::uint64_t position = 0; position < 2000; ++position) {
    for (const Step& step :
         plan_of(RandAugmentConfig{.family = AugmentFamily::kComposer, .ops = ComposerSet::kSafe},
                 {224, 224}, position))
      EXPECT_LT(composer_place(step), 9u);
    for (const Step& step : plan_of(
             RandAugmentConfig{
                 .family = AugmentFamily::kComposer, .magnitude = 1, .ops = ComposerSet::kOriginal},
             {224, 224}, position)) {
      const auto* brightness = std::get_if<BrightnessStep>(&step);
      if (brightness == nullptr) continue;
      is_ever_bright = true;
      EXPECT_GE(brightness->factor, 0.117f);
      EXPECT_LE(brightness->factor, 0.281f);
    }
  }
  EXPECT_TRUE(is_ever_bright);
}

/// The kinds of the steps, and of those that move pixels from where.
std::string described(const Plan& plan) {
  std::string text;
  for (const Step& step : plan) {
    text += std::to_string(step.index()) + " ";
    if (const auto* affine = std::get_if<AffineStep>(&step)) {
      for (const double value : affine->matrix) text += std::to_string(value) + " ";
      text += std::to_string(affine->fill[0]) + " " +
              std::to_string(static_cast<int>(affine->interpolation)) + " ";
    }
  }
  return text;
}

TEST(RandAugmentFamilies, TimmsIsTimmRandAugment) {
  const std::string text = "rand-m7-n3-inc1";
  for (std::uint64_t position = 0; position < 200; ++position) {
    EXPECT_EQ(
        described(plan_of(RandAugmentConfig{.family = AugmentFamily::kTimm}, {224, 224}, position)),
        described(plan_of(TimmRandAugmentConfig{}, {224, 224}, position)));
    EXPECT_EQ(
        described(plan_of(
            RandAugmentConfig{.family = AugmentFamily::kTimm, .policy = text, .fill = {{7, 8, 9}}},
            {224, 224}, position)),
        described(plan_of(TimmRandAugmentConfig{.policy = text, .fill = {7, 8, 9}}, {224, 224},
                          position)));
  }
}

TEST(RandAugmentFamilies, RefuseEachOthersSettings) {
  const auto expect_refused = [](const RandAugmentConfig& config, const char* what) {
    EXPECT_THAT([&] { TransformConfig(config)->check(); },
                ThrowsMessage<base::ConfigError>(HasSubstr(what)));
  };
  using enum AugmentFamily;
  expect_refused({.family = kTimm, .num_ops = 2}, "num_ops: family timm has no such setting");
  expect_refused({.family = kTimm, .magnitude = 9}, "magnitude: family timm");
  expect_refused({.family = kComposer, .num_magnitude_bins = 31},
                 "num_magnitude_bins: family composer has no such setting, only torchvision");
  expect_refused({.ops = ComposerSet::kSafe}, "ops: family torchvision has no such setting, only");
  expect_refused({.policy = "rand-m9"}, "policy: family torchvision");
  expect_refused({.family = kComposer, .interpolation = AffineInterpolation::kBilinear},
                 "interpolation: family composer has no such setting, only torchvision and timm");
  expect_refused({.family = kComposer, .fill = {{0, 0, 0}}}, "fill: family composer");
  expect_refused({.family = kComposer, .magnitude = 11}, "composer's are at most 10, got 11");
  expect_refused({.magnitude = 31}, "below num_magnitude_bins");
}

TEST(RandAugmentFamilies, RefuseATextThatIsNone) {
  EXPECT_THROW(make(RandAugmentConfig{.family = AugmentFamily::kTimm, .policy = "rand-m9-x1"}),
               base::ConfigError);
}

}  // namespace
}  // namespace paceline::data
