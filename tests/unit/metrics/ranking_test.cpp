#include "paceline/metrics/ranking.h"

#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::metrics {
namespace {

TEST(Ranking, CountsPairsInOrder) {
  std::vector<Scored> samples{{0.1, false}, {0.4, false}, {0.35, true}, {0.8, true}};
  const RankingScores scores = rank(samples);
  EXPECT_DOUBLE_EQ(scores.auroc, 0.75);
  EXPECT_DOUBLE_EQ(scores.average_precision, (1.0 + 2.0 / 3) / 2);
}

TEST(Ranking, EqualScoresAreOneThreshold) {
  for (const bool first : {false, true}) {
    std::vector<Scored> samples{{0.5, first}, {0.5, !first}, {0.5, false}};
    const RankingScores scores = rank(samples);
    EXPECT_DOUBLE_EQ(scores.auroc, 0.5);
    EXPECT_DOUBLE_EQ(scores.average_precision, 1.0 / 3);
  }
}

TEST(Ranking, IsUndefinedWithoutBothKinds) {
  std::vector<Scored> negatives{{0.1, false}, {0.2, false}};
  EXPECT_TRUE(std::isnan(rank(negatives).auroc));
  EXPECT_TRUE(std::isnan(rank(negatives).average_precision));
  std::vector<Scored> positives{{0.1, true}};
  EXPECT_TRUE(std::isnan(rank(positives).auroc));
  EXPECT_EQ(rank(positives).average_precision, 1);
}

TEST(Percentile, LiesBetweenTwoValues) {
  constexpr std::array values{1.0, 2.0, 4.0, 8.0};
  EXPECT_DOUBLE_EQ(percentile(values, 0), 1);
  EXPECT_DOUBLE_EQ(percentile(values, 50), 3);
  EXPECT_DOUBLE_EQ(percentile(values, 90), 6.8);
  EXPECT_DOUBLE_EQ(percentile(values, 100), 8);
  EXPECT_DOUBLE_EQ(percentile({values.data(), 1}, 37), 1);
  EXPECT_TRUE(std::isnan(percentile({}, 50)));
}

}  // namespace
}  // namespace paceline::metrics
