#include "paceline/data/transforms/named/policies/augmix.h"

#include "support/data/chi_square.h"
#include "unit/data/transforms/named/drawn_plan.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

struct DrawnMixture {
  float own = 0;
  std::vector<float> shares;
  std::vector<int> depths;
};

DrawnMixture mixture_of(const AugMixConfig& config, std::uint64_t position) {
  const Plan plan = plan_of(config, {224, 224}, position);
  DrawnMixture mixture{std::get<MixStep>(plan.at(0)).share, {}, {}};
  int depth = 0;
  for (std::size_t i = 1; i + 1 < plan.size(); ++i, ++depth) {
    if (const auto* part = std::get_if<MixInStep>(&plan[i])) {
      mixture.shares.push_back(part->share);
      mixture.depths.push_back(std::exchange(depth, -1));
    }
  }
  EXPECT_TRUE(std::holds_alternative<MixedStep>(plan.back()));
  return mixture;
}

TEST(AugMix, SharesAreDirichlets) {
  // With alpha 1 the own share is uniform; of three chains each has x of the rest with the
  // probability 1 - (1 - x)^2 of less.
  std::array<int, 10> own = {};
  std::array<int, 10> first = {};
  std::array<int, 3> depths = {};
  for (std::uint64_t position = 0; position < 20000; ++position) {
    const DrawnMixture mixture = mixture_of({}, position);
    ASSERT_EQ(mixture.shares.size(), 3u);
    const float rest = mixture.shares[0] + mixture.shares[1] + mixture.shares[2];
    EXPECT_NEAR(mixture.own + rest, 1, 1e-6);
    ++own[static_cast<std::size_t>(std::min(mixture.own * 10, 9.0f))];
    ++first[static_cast<std::size_t>(std::min(mixture.shares[0] / rest * 10, 9.0f))];
    // Three operations may leave no step where nothing is done: none of AugMix's is the identity.
    for (const int depth : mixture.depths) ++depths[static_cast<std::size_t>(depth - 1)];
  }
  std::vector<double> triangle;
  for (int i = 0; i < 10; ++i) triangle.push_back(19 - 2 * i);
  EXPECT_LT(chi_square_deviations(own, std::vector<double>(10, 1.0)), 4);
  EXPECT_LT(chi_square_deviations(first, triangle), 4);
  EXPECT_LT(chi_square_deviations(depths, std::vector<double>(3, 1.0)), 4);
}

TEST(AugMix, SharesOfASmallAlphaAreUneven) {
  // Beta(a, a) has the variance 1 / (8 a + 4).
  for (const double alpha : {0.2, 0.7, 3.0}) {
    double squares = 0;
    for (std::uint64_t position = 0; position < 20000; ++position) {
      const double own = mixture_of({.mixture_width = 1, .alpha = alpha}, position).own;
      squares += (own - 0.5) * (own - 0.5);
    }
    EXPECT_NEAR(squares / 20000 * (8 * alpha + 4), 1, 0.05) << alpha;
  }
}

TEST(AugMix, TakesItsOperationsOfTheSeverity) {
  for (std::uint64_t position = 0; position < 500; ++position) {
    const Plan plan = plan_of(AugMixConfig{.severity = 1, .chain_depth = 2, .all_ops = false},
                              {224, 224}, position);
    EXPECT_EQ(plan.size(), 1u + 3 * 3 + 1);
    for (const Step& step : plan) {
      EXPECT_FALSE(std::holds_alternative<BrightnessStep>(step));
      EXPECT_FALSE(std::holds_alternative<SharpnessStep>(step));
      if (const auto* posterize = std::get_if<PosterizeStep>(&step)) {
        EXPECT_EQ(posterize->bits, 4);
      }
      if (const auto* solarize = std::get_if<SolarizeStep>(&step)) {
        EXPECT_EQ(solarize->threshold, 255);
      }
      if (const auto* affine = std::get_if<AffineStep>(&step)) {
        EXPECT_NEAR(affine->matrix[0], 1, 1e-9);
        EXPECT_EQ(affine->interpolation, AffineInterpolation::kBilinear);
      }
    }
  }
}

}  // namespace
}  // namespace paceline::data
