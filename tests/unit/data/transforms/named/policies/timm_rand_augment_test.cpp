#include "paceline/data/transforms/named/policies/timm_rand_augment.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/timm_augment.h"
#include "support/data/chi_square.h"
#include "unit/data/transforms/named/drawn_plan.h"

#include <array>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

/// The place in the set of increasing operations of the one that made a step of a 224 x 224 image.
std::size_t increasing_op(const Step& step) {
  if (const auto* affine = std::get_if<AffineStep>(&step)) {
    const AffineMatrix& m = affine->matrix;
    if (m[0] != 1) return 3;
    if (m[1] != 0) return 11;
    if (m[3] != 0) return 12;
    return m[2] != 0 ? 13 : 14;
  }
  if (std::holds_alternative<AutocontrastStep>(step)) return 0;
  if (std::holds_alternative<EqualizeStep>(step)) return 1;
  if (std::holds_alternative<InvertStep>(step)) return 2;
  if (std::holds_alternative<PosterizeStep>(step)) return 4;
  if (std::holds_alternative<SolarizeStep>(step)) return 5;
  if (std::holds_alternative<SolarizeAddStep>(step)) return 6;
  if (std::holds_alternative<SaturationStep>(step)) return 7;
  if (std::holds_alternative<ContrastStep>(step)) return 8;
  if (std::holds_alternative<BrightnessStep>(step)) return 9;
  return 10;
}

TEST(TimmRandAugment, EachOperationIsAsLikely) {
  const TransformConfig transform = TimmRandAugmentConfig{.policy = "rand-m9-mstd0.5-inc1-n3-p0.4"};
  std::array<int, 15> counts = {};
  int total = 0;
  for (std::uint64_t position = 0; position < 20000; ++position) {
    for (const Step& step : plan_of(transform, {224, 224}, position)) {
      ++counts[increasing_op(step)];
      ++total;
    }
  }
  EXPECT_NEAR(total, 3 * 0.4 * 20000, 500);
  const std::vector<double> expected(15, 1.0);
  EXPECT_LT(chi_square_deviations(counts, expected), 4);
}

TEST(TimmRandAugment, MagnitudesAreNormalAndClamped) {
  // Of m8 and mstd1: rotations of 3 degrees for each level, up to level 10, to either side.
  const TransformConfig transform = TimmRandAugmentConfig{.policy = "rand-m8-mstd1-inc1-n5-p1"};
  constexpr int kCells = 12;
  std::array<int, kCells> counts = {};
  int negative = 0;
  int total = 0;
  for (std::uint64_t position = 0; position < 60000; ++position) {
    for (const Step& step : plan_of(transform, {224, 224}, position)) {
      if (increasing_op(step) != 3) continue;
      const double angle =
          -std::asin(std::get<AffineStep>(step).matrix[1]) * 180 / 3.14159265358979;
      const double level = std::abs(angle) / 3;
      ++counts[level > 9.9999 ? kCells - 1
                              : static_cast<std::size_t>(std::max(0.0, (level - 5) * 2))];
      negative += angle < 0;
      ++total;
    }
  }
  const auto below = [](double level) { return 0.5 * std::erfc((8 - level) / std::sqrt(2.0)); };
  std::array<double, kCells> expected;
  expected[0] = below(5.5);
  for (int i = 1; i < kCells - 2; ++i)
    expected[static_cast<std::size_t>(i)] = below(5.5 + i / 2.0) - below(5 + i / 2.0);
  expected[kCells - 2] = 0;
  expected[kCells - 1] = 1 - below(10);
  EXPECT_LT(chi_square_deviations(counts, expected), 4);
  EXPECT_NEAR(negative, total / 2.0, 4 * std::sqrt(total / 4.0));
}

TEST(TimmRandAugment, WeightedOperationsComeOnce) {
  // Weights 3, 2, 2, 1, 1, ...: of two operations without replacement.
  const TransformConfig transform = TimmRandAugmentConfig{.policy = "rand-m9-tweights-n2-p1-inc1"};
  std::array<int, 15> counts = {};
  for (std::uint64_t position = 0; position < 20000; ++position) {
    const Plan plan = plan_of(transform, {224, 224}, position);
    ASSERT_EQ(plan.size(), 2u);
    EXPECT_NE(increasing_op(plan[0]), increasing_op(plan[1]));
    ++counts[increasing_op(plan[0])];
  }
  std::vector<double> expected(15, 0.05);
  for (const std::size_t op : {0, 7, 10}) expected[op] = 0.25;
  expected[3] = 3;
  expected[11] = expected[12] = 2;
  expected[13] = expected[14] = 1;
  EXPECT_LT(chi_square_deviations(counts, expected), 4);
}

TEST(TimmRandAugment, TakesEitherFilterAndUniformMagnitudes) {
  const TransformConfig transform = TimmRandAugmentConfig{.policy = "rand-m10-mstd101-n4-p1"};
  int cubic = 0;
  int moved = 0;
  std::array<int, 10> counts = {};
  for (std::uint64_t position = 0; position < 20000; ++position) {
    for (const Step& step : plan_of(transform, {224, 224}, position)) {
      if (const auto* affine = std::get_if<AffineStep>(&step)) {
        EXPECT_NE(affine->interpolation, AffineInterpolation::kRandom);
        EXPECT_EQ(affine->fill, (FillColor{124, 116, 104}));
        cubic += affine->interpolation == AffineInterpolation::kBicubic;
        ++moved;
      } else if (const auto* brightness = std::get_if<BrightnessStep>(&step)) {
        ++counts[static_cast<std::size_t>((brightness->factor - 0.1) / 0.18)];
      }
    }
  }
  EXPECT_NEAR(cubic, moved / 2.0, 4 * std::sqrt(moved / 4.0));
  EXPECT_LT(chi_square_deviations(counts, std::vector<double>(10, 1.0)), 4);
}

TEST(TimmRandAugment, RefusesATextThatIsNone) {
  EXPECT_THROW(make(TimmRandAugmentConfig{.policy = "rand-m9-x1"}), base::ConfigError);
}

}  // namespace
}  // namespace paceline::data
