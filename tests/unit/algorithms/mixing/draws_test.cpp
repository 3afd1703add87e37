#include "paceline/algorithms/mixing/draws.h"

#include "support/chi_square.h"

#include <cmath>
#include <functional>
#include <map>
#include <numbers>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::ElementsAre;

SampleGroup drawn_group(std::int64_t step, std::int64_t count = 4, std::int64_t row = 0) {
  return {row, count, {3, step, 0}};
}

double beta_of_step(double alpha, std::int64_t step) {
  base::Philox draws = drawn_group(step).key.draws(Drawn::kMixup);
  return draw_beta(alpha, draws);
}

std::vector<std::int64_t> partners_of(Partner partner, const SampleGroup& group) {
  base::Philox draws = group.key.draws(Drawn::kMixup);
  return draw_partners(partner, group, draws);
}

TEST(MixingDraws, SharesAreOfTheBetaDistribution) {
  // Where its distribution function has a closed form.
  const std::map<double, std::function<double(double)>> distributions{
      {0.5, [](double x) { return 2 / std::numbers::pi * std::asin(std::sqrt(x)); }},
      {1.0, [](double x) { return x; }},
      {2.0, [](double x) { return x * x * (3 - 2 * x); }}};
  for (const auto& [alpha, distribution] : distributions) {
    std::vector<int> bins(20);
    for (std::int64_t step = 0; step < 20'000; ++step)
      ++bins.at(std::min<std::size_t>(
          static_cast<std::size_t>(20 * distribution(beta_of_step(alpha, step))), 19));
    EXPECT_LT(test::chi_square(bins), 43.8) << alpha;  // 19 degrees of freedom, 0.1 %
  }
}

TEST(MixingDraws, SmallAlphasGiveNumbersToo) {
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 20'000;
  for (std::int64_t step = 0; step < kDraws; ++step) {
    const double share = beta_of_step(0.01, step);
    ASSERT_TRUE(share >= 0 && share <= 1) << share;
    sum += share;
    squares += share * share;
  }
  const double mean = sum / kDraws;
  EXPECT_NEAR(mean, 0.5, 0.015);
  EXPECT_NEAR(squares / kDraws - mean * mean, 0.25 / 1.02, 0.003);  // 1 / (4 (2 alpha + 1))
}

TEST(MixingDraws, EveryPermutationIsAsLikely) {
  std::map<std::vector<std::int64_t>, int> counts;
  for (std::int64_t step = 0; step < 6'000; ++step)
    ++counts[partners_of(Partner::kPermutation, drawn_group(step))];
  ASSERT_EQ(counts.size(), 24U);
  std::vector<int> bins;
  for (const auto& [permutation, count] : counts) bins.push_back(count);
  EXPECT_LT(test::chi_square(bins), 49.7);  // 23 degrees of freedom, 0.1 %
}

TEST(MixingDraws, PartnersOfTimmAndTorchvision) {
  EXPECT_THAT(partners_of(Partner::kReversed, drawn_group(0)), ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(partners_of(Partner::kRolled, drawn_group(0)), ElementsAre(3, 0, 1, 2));
}

TEST(MixingDraws, PartnersAreRowsOfTheGroup) {
  EXPECT_THAT(partners_of(Partner::kReversed, drawn_group(0, 3, 5)), ElementsAre(7, 6, 5));
  EXPECT_THAT(partners_of(Partner::kRolled, drawn_group(0, 3, 5)), ElementsAre(7, 5, 6));
  EXPECT_THAT(partners_of(Partner::kPermutation, drawn_group(0, 3, 5)),
              ::testing::UnorderedElementsAre(5, 6, 7));
}

}  // namespace
}  // namespace paceline::algorithms
