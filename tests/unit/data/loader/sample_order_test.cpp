#include "paceline/data/loader/sample_order.h"

#include "paceline/base/error.h"

#include <cmath>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

std::vector<std::int64_t> order_of(std::uint64_t seed, std::uint64_t epoch, std::int64_t size) {
  const SampleOrder order(seed, epoch, size);
  std::vector<std::int64_t> samples;
  for (std::int64_t t = 0; t < size; ++t) samples.push_back(order.at(t));
  return samples;
}

TEST(SampleOrder, IsAPermutationOfEverySize) {
  std::vector<std::int64_t> sizes = {997, 1000, 1023, 1024, 1025, 4096, 50'000, 65'537};
  for (std::int64_t size = 1; size <= 130; ++size) sizes.push_back(size);
  for (const std::int64_t size : sizes) {
    std::vector<char> seen(static_cast<std::size_t>(size));
    for (const std::int64_t sample : order_of(3, 2, size)) {
      ASSERT_TRUE(sample >= 0 && sample < size) << size;
      ASSERT_FALSE(seen[static_cast<std::size_t>(sample)]++) << size;
    }
  }
}

TEST(SampleOrder, GivesTheSameSideBySide) {
  for (const std::int64_t size : {1, 15, 16, 17, 50, 997}) {
    const std::vector<std::int64_t> one_by_one = order_of(3, 2, size);
    for (std::int64_t first = 0; first < size; first += 7) {
      std::vector<std::int64_t> samples(static_cast<std::size_t>(size - first));
      SampleOrder(3, 2, size).fill(first, samples);
      EXPECT_THAT(samples,
                  ::testing::ElementsAreArray(one_by_one.begin() + first, one_by_one.end()));
    }
  }
  std::vector<std::int64_t> too_many(6);
  EXPECT_THROW(SampleOrder(3, 2, 10).fill(5, too_many), base::InternalError);
}

TEST(SampleOrder, HandlesSizesBeyond32Bits) {
  const std::int64_t size = (std::int64_t{1} << 40) + 12'345;
  const SampleOrder order(1, 0, size);
  std::set<std::int64_t> seen;
  for (std::int64_t t = 0; t < 1000; ++t) {
    const std::int64_t sample = order.at(size - 1 - t);
    EXPECT_TRUE(sample >= 0 && sample < size);
    EXPECT_TRUE(seen.insert(sample).second);
  }
}

TEST(SampleOrder, DependsOnSeedAndEpochOnly) {
  EXPECT_EQ(order_of(1, 0, 500), order_of(1, 0, 500));
  EXPECT_NE(order_of(1, 0, 500), order_of(1, 1, 500));
  EXPECT_NE(order_of(1, 0, 500), order_of(2, 0, 500));
}

TEST(SampleOrder, KeepsItsNumbersForEver) {
  // Reproducibility of old runs: these numbers must never change.
  EXPECT_THAT(order_of(42, 7, 10), ::testing::ElementsAre(4, 5, 7, 3, 9, 2, 0, 8, 1, 6));
  EXPECT_EQ(SampleOrder(42, 7, 1'281'167).at(123'456), 1'184'324);
  std::vector<std::int64_t> many(20);
  SampleOrder(42, 7, 1'281'167).fill(123'440, many);
  EXPECT_EQ(many[16], 1'184'324);
}

/// Over many epochs every sample should reach every place equally often.
TEST(SampleOrder, IsUniformOverPlaces) {
  for (const std::int64_t size : {2, 3, 5, 8, 12, 30}) {
    constexpr int kEpochs = 6000;
    std::vector<int> hits(static_cast<std::size_t>(size * size));
    for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
      const SampleOrder order(11, epoch, size);
      for (std::int64_t t = 0; t < size; ++t)
        ++hits[static_cast<std::size_t>(t * size + order.at(t))];
    }
    const double expected = static_cast<double>(kEpochs) / static_cast<double>(size);
    double chi_square = 0;
    for (const int count : hits) chi_square += (count - expected) * (count - expected) / expected;
    // The statistic has (size - 1)^2 degrees of freedom; five standard deviations above its mean.
    const double freedom = static_cast<double>((size - 1) * (size - 1));
    EXPECT_LT(chi_square, freedom + 5 * std::sqrt(2 * freedom)) << size;
  }
}

/// Neighbours in the files should not be neighbours in the order more often than by chance.
TEST(SampleOrder, SeparatesNeighbours) {
  constexpr std::int64_t kSize = 20'000;
  const auto samples = order_of(5, 0, kSize);
  double sum = 0;
  int close = 0;
  for (std::size_t t = 1; t < samples.size(); ++t) {
    const double centre = (kSize - 1) / 2.0;
    sum +=
        (static_cast<double>(samples[t]) - centre) * (static_cast<double>(samples[t - 1]) - centre);
    close += std::abs(samples[t] - samples[t - 1]) <= 10 ? 1 : 0;
  }
  const double correlation = sum / kSize / (kSize * (double{kSize} / 12));
  EXPECT_NEAR(correlation, 0, 5 / std::sqrt(double{kSize}));
  EXPECT_NEAR(close, 20, 25);  // 2 * 10 * kSize / kSize by chance
}

TEST(SampleOrder, ReplacementsAreSamplesAndDiffer) {
  const SampleOrder order(1, 2, 1000);
  std::set<std::int64_t> seen;
  for (int attempt = 1; attempt <= 8; ++attempt) {
    const std::int64_t sample = order.replacement(17, attempt);
    EXPECT_TRUE(sample >= 0 && sample < 1000);
    EXPECT_EQ(sample, SampleOrder(1, 2, 1000).replacement(17, attempt));
    seen.insert(sample);
  }
  EXPECT_GE(seen.size(), 7u);
}

TEST(BatchPlan, RanksShareEachBatchContiguouslyAndEvenly) {
  for (const int world_size : {1, 2, 3, 4, 7}) {
    for (const bool drop_last : {false, true}) {
      const BatchPlan whole(53, 10, drop_last, 0, 1);
      EXPECT_EQ(whole.batches_per_epoch(), drop_last ? 5 : 6);
      std::int64_t place = 0;
      for (std::int64_t s = 0; s < whole.batches_per_epoch(); ++s) {
        for (int rank = 0; rank < world_size; ++rank) {
          const BatchPlan plan(53, 10, drop_last, rank, world_size);
          const BatchSlice slice = plan.slice(s);
          EXPECT_EQ(slice.first, place);
          EXPECT_EQ(slice.global_count, s == 5 ? 3 : 10);
          EXPECT_LE(slice.count, plan.max_count());
          EXPECT_NEAR(static_cast<double>(slice.count),
                      static_cast<double>(slice.global_count) / world_size, 1.0);
          place += slice.count;
        }
      }
      EXPECT_EQ(place, drop_last ? 50 : 53);
    }
  }
}

TEST(BatchPlan, CountsPositionsOverEpochs) {
  const BatchPlan plan(53, 10, false, 1, 2);
  EXPECT_EQ(plan.slice(11).epoch, 1);
  EXPECT_EQ(plan.slice(11).first, 52);
  EXPECT_EQ(plan.slice(11).count, 1);
  EXPECT_EQ(plan.global_count_of(11), 3);
  EXPECT_EQ(plan.global_count_of(12), 10);
  EXPECT_EQ(plan.slice(12).epoch, 2);
  EXPECT_EQ(plan.slice(12).first, 5);
}

TEST(BatchPlan, LeavesRanksEmptyWhenSamplesRunOut) {
  EXPECT_EQ(BatchPlan(9, 4, false, 0, 4).slice(2).count, 1);
  EXPECT_EQ(BatchPlan(9, 4, false, 3, 4).slice(2).count, 0);
}

TEST(BatchPlan, RefusesWhatCannotBe) {
  EXPECT_THROW(BatchPlan(0, 4, false, 0, 1), base::DataError);
  EXPECT_THROW(BatchPlan(9, 0, false, 0, 1), base::ConfigError);
  EXPECT_THROW(BatchPlan(9, 4, false, 2, 2), base::ConfigError);
  try {
    BatchPlan(9, 10, true, 0, 1);
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("drop_last"));
  }
}

}  // namespace
}  // namespace paceline::data
