#include "paceline/data/loader/alias_table.h"

#include "paceline/base/error.h"

#include <random>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

/// What each number gets of [0, 1): the columns' shares and rests, added up finely.
std::vector<double> probabilities(const AliasTable& table) {
  constexpr int kSteps = 4096;
  std::vector<double> result(static_cast<std::size_t>(table.size()));
  for (std::int64_t column = 0; column < table.size(); ++column) {
    for (int step = 0; step < kSteps; ++step) {
      const double uniform = (step + 0.5) / kSteps;
      result[static_cast<std::size_t>(table.choose(column, uniform))] +=
          1.0 / (kSteps * static_cast<double>(table.size()));
    }
  }
  return result;
}

TEST(AliasTable, GivesEveryNumberItsShare) {
  std::mt19937 random(1);
  for (const std::size_t size : {1, 2, 3, 10, 57}) {
    std::vector<double> weights(size);
    double sum = 0;
    for (double& weight : weights) sum += weight = static_cast<double>(random() % 5);
    if (sum == 0) sum = weights[0] = 1;
    const std::vector<double> got = probabilities(AliasTable(weights));
    for (std::size_t i = 0; i < size; ++i) EXPECT_NEAR(got[i], weights[i] / sum, 1e-3);
  }
}

TEST(AliasTable, NeverChoosesAWeightOfZero) {
  // Sums that do not come out even leave columns over at the end.
  std::vector<double> weights(1000, 0.1);
  for (std::size_t i = 0; i < weights.size(); i += 3) weights[i] = 0;
  const AliasTable table(weights);
  for (std::int64_t column = 0; column < table.size(); ++column) {
    for (const double uniform : {0.0, 0.3, 0.999999999999999}) {
      EXPECT_GT(weights[static_cast<std::size_t>(table.choose(column, uniform))], 0);
    }
  }
}

TEST(AliasTable, HugeWeightsKeepTheirProportions) {
  const std::vector<double> got =
      probabilities(AliasTable(std::vector<double>{1e308, 1e308, 5e307}));
  EXPECT_NEAR(got[0], 0.4, 1e-3);
  EXPECT_NEAR(got[2], 0.2, 1e-3);
}

TEST(AliasTable, NeedsAWeight) {
  EXPECT_THROW(AliasTable(std::vector<double>{0, 0}), base::InternalError);
  EXPECT_THROW(AliasTable(std::vector<double>{}), base::InternalError);
}

}  // namespace
}  // namespace paceline::data
