#include "paceline/algorithms/mixup/mixture.h"

#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

constexpr std::uint64_t kSeed = 3;

double share_of_step(double alpha, std::int64_t step) {
  return draw_mixtures({.alpha = alpha, .fold = false}, kSeed, step, 0, 1).front().share;
}

/// Chi-square of draws in `counts.size()` bins that should be equally full.
double chi_square(const std::vector<int>& counts) {
  const double wanted =
      std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(counts.size());
  double sum = 0;
  for (const int count : counts) sum += (count - wanted) * (count - wanted) / wanted;
  return sum;
}

TEST(Mixture, SharesAreOfTheBetaDistribution) {
  // Where its distribution function has a closed form.
  const std::map<double, std::function<double(double)>> distributions{
      {0.5, [](double x) { return 2 / std::numbers::pi * std::asin(std::sqrt(x)); }},
      {1.0, [](double x) { return x; }},
      {2.0, [](double x) { return x * x * (3 - 2 * x); }}};
  for (const auto& [alpha, distribution] : distributions) {
    std::vector<int> bins(20);
    for (std::int64_t step = 0; step < 20'000; ++step)
      ++bins.at(std::min<std::size_t>(
          static_cast<std::size_t>(20 * distribution(share_of_step(alpha, step))), 19));
    EXPECT_LT(chi_square(bins), 43.8) << alpha;  // 19 degrees of freedom, 0.1 %
  }
}

TEST(Mixture, SmallAlphasGiveNumbersToo) {
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 20'000;
  for (std::int64_t step = 0; step < kDraws; ++step) {
    const double share = share_of_step(0.01, step);
    ASSERT_TRUE(share >= 0 && share <= 1) << share;
    sum += share;
    squares += share * share;
  }
  const double mean = sum / kDraws;
  EXPECT_NEAR(mean, 0.5, 0.015);
  EXPECT_NEAR(squares / kDraws - mean * mean, 0.25 / 1.02, 0.003);  // 1 / (4 (2 alpha + 1))
}

TEST(Mixture, EveryPermutationIsAsLikely) {
  std::map<std::vector<std::int64_t>, int> counts;
  for (std::int64_t step = 0; step < 6'000; ++step)
    ++counts[draw_mixtures({}, kSeed, step, 0, 4).front().partners];
  ASSERT_EQ(counts.size(), 24U);
  std::vector<int> bins;
  for (const auto& [permutation, count] : counts) bins.push_back(count);
  EXPECT_LT(chi_square(bins), 49.7);  // 23 degrees of freedom, 0.1 %
}

TEST(Mixture, PartnersOfTimmAndTorchvision) {
  const auto partners = [](Partner partner) {
    return draw_mixtures({.partner = partner}, kSeed, 0, 0, 4).front().partners;
  };
  EXPECT_THAT(partners(Partner::kReversed), ::testing::ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(partners(Partner::kRolled), ::testing::ElementsAre(3, 0, 1, 2));
}

TEST(Mixture, IsOfSeedStepAndPlaceAlone) {
  const auto share = [](std::uint64_t seed, std::int64_t step, std::int64_t position) {
    return draw_mixtures({}, seed, step, position, 8).front().share;
  };
  EXPECT_EQ(share(1, 2, 3), share(1, 2, 3));
  const std::set<double> others{share(1, 2, 3), share(2, 2, 3), share(1, 3, 3), share(1, 2, 4)};
  EXPECT_EQ(others.size(), 4U);
}

TEST(Mixture, AGroupsDrawIsTheSameInEveryMicrobatchThatHoldsIt) {
  const MixupConfig rule{.group = 4};
  const auto whole = draw_mixtures(rule, kSeed, 5, 16, 12);
  ASSERT_EQ(whole.size(), 3U);
  const auto part = draw_mixtures(rule, kSeed, 5, 20, 8);
  ASSERT_EQ(part.size(), 2U);
  for (std::size_t i = 0; i < part.size(); ++i) {
    EXPECT_EQ(part[i].share, whole[i + 1].share);
    for (std::size_t k = 0; k < 4; ++k)
      EXPECT_EQ(part[i].partners[k] + 4, whole[i + 1].partners[k]);
  }
}

TEST(Mixture, AGroupThatIsCutMixesWhatIsThere) {
  const auto mixtures = draw_mixtures({.group = 4}, kSeed, 0, 2, 5);  // places 2 and 3, 4 to 6
  ASSERT_EQ(mixtures.size(), 2U);
  EXPECT_THAT(mixtures[0].partners, ::testing::UnorderedElementsAre(0, 1));
  EXPECT_THAT(mixtures[1].partners, ::testing::UnorderedElementsAre(2, 3, 4));
}

TEST(Mixture, OfSeveralGroupsKeepsEachShare) {
  const std::vector<Mixture> mixtures{{0.25, {1, 0}}, {0.5, {3, 2}}};
  const at::Tensor partners = at::empty({4}, at::kLong);
  write_partners(mixtures, partners);
  const at::Tensor values = at::tensor({0.0, 4.0, 8.0, 16.0}, at::kFloat).unsqueeze(1);
  EXPECT_TRUE(mix(values, partners, mixtures)
                  .equal(at::tensor({1.0, 3.0, 12.0, 12.0}, at::kFloat).unsqueeze(1)));
}

}  // namespace
}  // namespace paceline::algorithms
