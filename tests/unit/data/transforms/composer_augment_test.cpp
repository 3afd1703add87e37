#include "paceline/data/transforms/composer_augment.h"

#include "support/data/chi_square.h"
#include "unit/data/transforms/named/drawn_plan.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(ComposerAugment, SetsDifferInColours) {
  EXPECT_EQ(composer_ops(ComposerSet::kAll).size(), 13u);
  EXPECT_EQ(composer_ops(ComposerSet::kSafe).size(), 9u);
  EXPECT_EQ(composer_ops(ComposerSet::kSafe).back(), ComposerOp::kTranslateY);
  EXPECT_EQ(composer_ops(ComposerSet::kAll)[11], ComposerOp::kBrightness);
  EXPECT_EQ(composer_ops(ComposerSet::kOriginal)[11], ComposerOp::kBrightnessOriginal);
}

TEST(ComposerAugment, SidesTurnWhatMovesPixels) {
  EXPECT_EQ(composer_argument(ComposerOp::kRotate, 10, {0.999, 0.5}, {32, 32}), 29);
  EXPECT_EQ(composer_argument(ComposerOp::kRotate, 10, {0.999, 0.51}, {32, 32}), -29);
  EXPECT_EQ(composer_argument(ComposerOp::kTranslateX, 10, {0.999, 0.51}, {30, 90}), -29);
  EXPECT_EQ(composer_argument(ComposerOp::kTranslateY, 10, {0.999, 0}, {30, 90}), 9);
}

// Of severity 3.
TEST(ComposerAugment, LevelsAreUniformUpToTheSeverity) {
  // Of solarize: what is left of 256 after 2.56 to 76.8, cut off.
  std::array<int, 75> thresholds = {};
  std::vector<double> wanted_thresholds;
  for (int cut = 2; cut < 77; ++cut)
    wanted_thresholds.push_back(std::min(cut + 1.0, 76.8) - std::max(cut + 0.0, 2.56));
  std::array<int, 10> darker = {};
  std::array<int, 10> brighter = {};
  int to_the_left = 0;
  int sheared = 0;
  for (std::uint64_t position = 0; position < 60000; ++position) {
    Plan plan;
    base::Philox draws = draws_of(position);
    append_drawn_composer(ComposerSet::kAll, 3, {224, 224}, draws, plan);
    ASSERT_EQ(plan.size(), 1u);
    const Step& step = plan.front();
    if (const auto* solarize = std::get_if<SolarizeStep>(&step)) {
      ++thresholds.at(static_cast<std::size_t>(256 - solarize->threshold) - 2);
    } else if (const auto* colour = std::get_if<SaturationStep>(&step)) {
      const double below = (colour->factor - 0.73) / 0.27;
      const double above = (colour->factor - 1.0) / 2.0;
      if (above >= 0) {
        ++brighter[static_cast<std::size_t>(std::min(above * 10, 9.0))];
      } else {
        ++darker[static_cast<std::size_t>(std::clamp(below * 10, 0.0, 9.0))];
      }
    } else if (const auto* affine = std::get_if<AffineStep>(&step)) {
      if (affine->matrix[0] == 1 && affine->matrix[1] != 0) {
        ++sheared;
        to_the_left += affine->matrix[1] < 0;
        EXPECT_LE(std::abs(affine->matrix[1]), 0.09);
        EXPECT_GE(std::abs(affine->matrix[1]), 0.003);
        EXPECT_EQ(affine->interpolation, AffineInterpolation::kBilinear);
        EXPECT_EQ(affine->fill, (FillColor{0, 0, 0}));
      }
    }
  }
  const std::vector<double> even(10, 1.0);
  EXPECT_LT(chi_square_deviations(thresholds, wanted_thresholds), 4);
  EXPECT_LT(chi_square_deviations(darker, even), 4);
  EXPECT_LT(chi_square_deviations(brighter, even), 4);
  EXPECT_NEAR(to_the_left, sheared / 2.0, 4 * std::sqrt(sheared / 4.0));
}

}  // namespace
}  // namespace paceline::data
