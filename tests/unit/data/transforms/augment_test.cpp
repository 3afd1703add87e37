#include "paceline/data/transforms/augment.h"

#include "paceline/data/transforms/named/policies/auto_augment.h"
#include "paceline/data/transforms/named/policies/rand_augment.h"
#include "paceline/data/transforms/named/policies/trivial_augment_wide.h"

#include <cmath>
#include <map>
#include <string>

#include <gmock/gmock.h>

namespace paceline::data {
namespace {

constexpr ImageSize kAugmentedSize = {224, 224};

template <class Config>
Plan plan_of(const Config& config, std::uint64_t position) {
  Plan plan;
  base::Philox draws(9, base::DrawPurpose::kAugmentation, 2, position);
  draw_steps(config, kAugmentedSize, draws, plan);
  return plan;
}

/// Which operation a step is, and its magnitude, for an image of kAugmentedSize.
std::pair<AugmentOp, double> recognise(const Step& step) {
  if (const auto* affine = std::get_if<AffineStep>(&step)) {
    const AffineMatrix& m = affine->matrix;
    if (m[0] != 1) return {AugmentOp::kRotate, std::asin(m[1]) * -180 / 3.14159265358979};
    if (m[1] != 0) return {AugmentOp::kShearX, m[1]};
    if (m[3] != 0) return {AugmentOp::kShearY, m[3]};
    if (m[2] != 0) return {AugmentOp::kTranslateX, -m[2]};
    return {AugmentOp::kTranslateY, -m[5]};
  }
  if (const auto* brightness = std::get_if<BrightnessStep>(&step))
    return {AugmentOp::kBrightness, brightness->factor - 1};
  if (const auto* color = std::get_if<SaturationStep>(&step))
    return {AugmentOp::kColor, color->factor - 1};
  if (const auto* contrast = std::get_if<ContrastStep>(&step))
    return {AugmentOp::kContrast, contrast->factor - 1};
  if (const auto* sharpness = std::get_if<SharpnessStep>(&step))
    return {AugmentOp::kSharpness, sharpness->factor - 1};
  if (const auto* posterize = std::get_if<PosterizeStep>(&step))
    return {AugmentOp::kPosterize, posterize->bits};
  if (const auto* solarize = std::get_if<SolarizeStep>(&step))
    return {AugmentOp::kSolarize, solarize->threshold};
  if (std::holds_alternative<AutocontrastStep>(step)) return {AugmentOp::kAutoContrast, 0};
  if (std::holds_alternative<EqualizeStep>(step)) return {AugmentOp::kEqualize, 0};
  return {AugmentOp::kInvert, 0};
}

TEST(Augment, RandAugmentDrawsEachOperationWithItsMagnitude) {
  // torchvision's magnitude 9 of 31: 30 % of the range; translation is 30.45 pixels cut off.
  const std::map<AugmentOp, double> expected = {
      {AugmentOp::kShearX, 0.09},   {AugmentOp::kShearY, 0.09},    {AugmentOp::kTranslateX, 30},
      {AugmentOp::kTranslateY, 30}, {AugmentOp::kRotate, 9},       {AugmentOp::kBrightness, 0.27},
      {AugmentOp::kColor, 0.27},    {AugmentOp::kContrast, 0.27},  {AugmentOp::kSharpness, 0.27},
      {AugmentOp::kPosterize, 7},   {AugmentOp::kSolarize, 178.5}, {AugmentOp::kAutoContrast, 0},
      {AugmentOp::kEqualize, 0}};
  constexpr int kPlans = 7000;
  std::map<AugmentOp, int> counts;
  std::map<AugmentOp, int> negatives;
  std::map<std::size_t, int> lengths;
  for (std::uint64_t position = 0; position < kPlans; ++position) {
    const Plan plan = plan_of(RandAugmentConfig{}, position);
    ++lengths[plan.size()];
    for (const Step& step : plan) {
      const auto [op, magnitude] = recognise(step);
      ++counts[op];
      negatives[op] += magnitude < 0 ? 1 : 0;
      ASSERT_TRUE(expected.contains(op));
      EXPECT_NEAR(std::abs(magnitude), expected.at(op), 1e-5);
    }
  }
  EXPECT_EQ(counts.size(), 13u);
  for (const auto& [op, count] : counts) {
    EXPECT_NEAR(count, 2 * kPlans / 14, 150);
    EXPECT_NEAR(negatives[op], has_sign(op) ? count / 2 : 0, 100);
  }
  // Identity leaves no step.
  EXPECT_NEAR(lengths[1], kPlans * 2 * 13 / 196, 150);
  EXPECT_NEAR(lengths[0], kPlans / 196, 25);
}

TEST(Augment, TrivialAugmentWideDrawsOneOperationOfAnyMagnitude) {
  constexpr int kPlans = 14000;
  std::map<AugmentOp, std::map<int, int>> magnitudes;
  int identities = 0;
  for (std::uint64_t position = 0; position < kPlans; ++position) {
    const Plan plan = plan_of(TrivialAugmentWideConfig{}, position);
    ASSERT_LE(plan.size(), 1u);
    if (plan.empty()) {
      ++identities;
      continue;
    }
    const auto [op, magnitude] = recognise(plan[0]);
    ++magnitudes[op][static_cast<int>(std::lround(magnitude * 10000))];
  }
  EXPECT_NEAR(identities, 1000, 130);
  // 31 levels with a sign; level 0 has none.
  EXPECT_EQ(magnitudes[AugmentOp::kColor].size(), 61u);
  EXPECT_EQ(magnitudes[AugmentOp::kColor].rbegin()->first, 9900);
  EXPECT_EQ(magnitudes[AugmentOp::kColor].begin()->first, -9900);
  EXPECT_EQ(magnitudes[AugmentOp::kSolarize].size(), 31u);
  EXPECT_EQ(magnitudes[AugmentOp::kPosterize].size(), 7u);
  EXPECT_EQ(magnitudes[AugmentOp::kPosterize].begin()->first, 20000);
  int total = 0;
  for (const auto& [magnitude, count] : magnitudes[AugmentOp::kSolarize]) {
    EXPECT_NEAR(count, 1000 / 31, 22) << magnitude;
    total += count;
  }
  EXPECT_NEAR(total, 1000, 130);
}

TEST(Augment, AutoAugmentTakesPairsWithTheirProbabilities) {
  constexpr int kPlans = 10000;
  int inverts = 0;
  int sharpnesses = 0;
  int pairs = 0;
  for (std::uint64_t position = 0; position < kPlans; ++position) {
    const Plan plan = plan_of(AutoAugmentConfig{}, position);
    ASSERT_LE(plan.size(), 2u);
    pairs += plan.size() == 2 ? 1 : 0;
    for (const Step& step : plan) {
      inverts += std::holds_alternative<InvertStep>(step) ? 1 : 0;
      if (const auto* sharpness = std::get_if<SharpnessStep>(&step)) {
        ++sharpnesses;
        EXPECT_NEAR(std::abs(sharpness->factor - 1.0), 0.7, 1e-6);
      }
    }
  }
  // Of 25 pairs, Invert has a chance of 0.6 in three, Sharpness one of 0.4 in one.
  EXPECT_NEAR(inverts, kPlans * 3 * 0.6 / 25, 100);
  EXPECT_NEAR(sharpnesses, kPlans * 0.4 / 25, 50);
  // The sum of p1 p2 over torchvision's pairs is 9.76.
  EXPECT_NEAR(pairs, kPlans * 9.76 / 25, 200);
}

TEST(Augment, FillsAndInterpolatesAsTold) {
  const RandAugmentConfig config = {
      .num_ops = 20, .interpolation = AffineInterpolation::kBilinear, .fill = {{10, 200, 255}}};
  int moves = 0;
  for (const Step& step : plan_of(config, 1)) {
    if (const auto* affine = std::get_if<AffineStep>(&step)) {
      ++moves;
      EXPECT_EQ(affine->interpolation, AffineInterpolation::kBilinear);
      EXPECT_EQ(affine->fill, (FillColor{10, 200, 255}));
    }
  }
  EXPECT_GT(moves, 0);
}

}  // namespace
}  // namespace paceline::data
