#include "paceline/data/transforms/named/policies/augmix.h"

#include "paceline/base/error.h"
#include "support/data/chi_square.h"
#include "unit/data/transforms/named/drawn_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
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

/// What a family makes of the draws of one position, and torchvision's shares of the same.
struct FamilyMixture {
  DrawnMixture torchvisions;
  DrawnMixture drawn;
  MixedStep end;
};

FamilyMixture family_mixture(AugmentFamily family, std::uint64_t position) {
  AugMixConfig config;
  config.chain_depth = 1;
  config.mixture_width = 1;
  FamilyMixture mixture;
  mixture.torchvisions = mixture_of(config, position);
  config.family = family;
  mixture.drawn = mixture_of(config, position);
  mixture.end = std::get<MixedStep>(plan_of(config, {224, 224}, position).back());
  return mixture;
}

TEST(AugMixFamilies, SharesEnterAsEachHasThem) {
  for (std::uint64_t position = 0; position < 50; ++position) {
    const FamilyMixture composer = family_mixture(AugmentFamily::kComposer, position);
    const float chains = composer.torchvisions.shares.at(0);
    EXPECT_EQ(composer.drawn.own, 0);
    EXPECT_EQ(composer.drawn.shares.at(0), 1);
    EXPECT_EQ(composer.end.sum_share, chains);
    EXPECT_EQ(composer.end.own_share, 1.0f - chains);
    EXPECT_FALSE(composer.end.blended);
    const FamilyMixture timm = family_mixture(AugmentFamily::kTimm, position);
    EXPECT_EQ(timm.drawn.own, 0);
    EXPECT_EQ(timm.drawn.shares.at(0), 1);
    EXPECT_EQ(timm.end.blended, chains);
    EXPECT_EQ(timm.end.own_share, 0);
  }
}

TEST(AugMixFamilies, ComposersSafeSetHasNoColours) {
  AugMixConfig config{.family = AugmentFamily::kComposer, .ops = ComposerSet::kSafe};
  int fewest_bits = 4;
  for (std::uint64_t position = 0; position < 500; ++position) {
    for (const Step& step : plan_of(config, {224, 224}, position)) {
      EXPECT_FALSE(std::holds_alternative<BrightnessStep>(step));
      EXPECT_FALSE(std::holds_alternative<SaturationStep>(step));
      if (const auto* posterize = std::get_if<PosterizeStep>(&step))
        fewest_bits = std::min(fewest_bits, posterize->bits);
    }
  }
  EXPECT_EQ(fewest_bits, 3);  // of severity 3 in 4 bits at most one
}

TEST(AugMixFamilies, TimmsOperationsAreAsLikelyAndOfAUniformLevel) {
  AugMixConfig config{.family = AugmentFamily::kTimm, .severity = 10, .chain_depth = 1};
  std::array<int, 13> counts = {};
  std::array<int, 10> angles = {};
  int cubic = 0;
  int moved = 0;
  for (std::uint64_t position = 0; position < 10000; ++position) {
    for (const Step& step : plan_of(config, {224, 224}, position)) {
      const auto* affine = std::get_if<AffineStep>(&step);
      if (affine != nullptr) {
        ++moved;
        cubic += affine->interpolation == AffineInterpolation::kBicubic;
        EXPECT_EQ(affine->fill, (FillColor{124, 116, 104}));
        const AffineMatrix& m = affine->matrix;
        if (m[0] != 1) {
          const double angle = std::abs(std::asin(m[1])) * 180 / 3.14159265358979;
          ++angles[static_cast<std::size_t>(std::min(angle / 3, 9.0))];
        }
        ++counts[m[0] != 1 ? 0u : m[1] != 0 ? 1u : m[3] != 0 ? 2u : m[2] != 0 ? 3u : 4u];
      }
      if (std::holds_alternative<AutocontrastStep>(step)) ++counts[5];
      if (std::holds_alternative<EqualizeStep>(step)) ++counts[6];
      if (std::holds_alternative<PosterizeStep>(step)) ++counts[7];
      if (std::holds_alternative<SolarizeStep>(step)) ++counts[8];
      if (std::holds_alternative<SaturationStep>(step)) ++counts[9];
      if (std::holds_alternative<ContrastStep>(step)) ++counts[10];
      if (std::holds_alternative<BrightnessStep>(step)) ++counts[11];
      if (std::holds_alternative<SharpnessStep>(step)) ++counts[12];
    }
  }
  EXPECT_LT(chi_square_deviations(counts, std::vector<double>(13, 1.0)), 4);
  EXPECT_LT(chi_square_deviations(angles, std::vector<double>(10, 1.0)), 4);
  EXPECT_NEAR(cubic, moved / 2.0, 4 * std::sqrt(moved / 4.0));
}

TEST(AugMixFamilies, RefuseEachOthersSettings) {
  const auto expect_refused = [](const AugMixConfig& config, const char* what) {
    EXPECT_THAT([&] { TransformConfig(config)->check(); },
                testing::ThrowsMessage<base::ConfigError>(testing::HasSubstr(what)));
  };
  using enum AugmentFamily;
  expect_refused({.family = kComposer, .all_ops = false},
                 "all_ops: family composer has no such setting, only torchvision");
  expect_refused({.family = kTimm, .ops = ComposerSet::kSafe}, "ops: family timm");
  expect_refused({.family = kComposer, .interpolation = AffineInterpolation::kNearest},
                 "interpolation: family composer");
  expect_refused({.family = kComposer, .fill = {{1, 2, 3}}}, "fill: family composer");
  expect_refused({.severity = 0}, "severity: torchvision's are at least 1, got 0");
}

}  // namespace
}  // namespace paceline::data
