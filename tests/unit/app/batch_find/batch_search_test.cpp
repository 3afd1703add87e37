#include "paceline/app/batch_find/batch_search.h"

#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::ElementsAre;

constexpr double kPlentyBytes = 1000;
constexpr std::int64_t kManySamples = 100'000;

using BytesOfBatch = std::function<double(std::int64_t samples)>;

/// The search of one rank whose refusals tell the whole excess, or hardly any of it.
BatchSearch search_alone(const BytesOfBatch& bytes_of, double limit, std::int64_t most_samples,
                         bool tells_excess = true) {
  BatchSearch search(limit, most_samples);
  while (search.next() > search.found()) {
    const std::int64_t samples = search.next();
    const double bytes = bytes_of(samples);
    const bool fits = bytes <= limit;
    search.add({samples, fits, fits || tells_excess ? bytes : limit + 1, search.predict(samples)});
    if (search.tries().size() > 40) break;
  }
  return search;
}

std::vector<std::int64_t> sizes_tried(const BatchSearch& search) {
  std::vector<std::int64_t> sizes;
  for (const BatchTry& made : search.tries()) sizes.push_back(made.samples);
  return sizes;
}

double linear_bytes(std::int64_t samples) { return 100 + 2 * static_cast<double>(samples); }

/// Another moment of the step, which samples weigh on more, has the most from 100 samples on.
double bent_bytes(std::int64_t samples) {
  return std::max(linear_bytes(samples), 5 * static_cast<double>(samples) - 200);
}

TEST(BatchSearch, TriesThreeSmallSizesAndWhatTheyPredict) {
  const BatchSearch search = search_alone(linear_bytes, kPlentyBytes, kManySamples);
  EXPECT_EQ(search.found(), 448) << "450 would fit";
  EXPECT_THAT(sizes_tried(search), ElementsAre(8, 16, 24, 448));
  EXPECT_DOUBLE_EQ(*search.tries().back().predicted, 996);
  EXPECT_FALSE(search.tries().front().predicted);
  EXPECT_FALSE(search.ends_with_data());
}

TEST(BatchSearch, LowersByTheExcessWhatDoesNotFit) {
  const BatchSearch search = search_alone(bent_bytes, kPlentyBytes, kManySamples);
  EXPECT_EQ(search.found(), 240) << "5 x 240 - 200 = 1000";
  EXPECT_LE(search.tries().size(), 9U);
  EXPECT_FALSE(search.tries()[3].fits);
}

TEST(BatchSearch, FindsItAlsoWhereARefusalTellsHardlyAnyExcess) {
  const BatchSearch search = search_alone(bent_bytes, kPlentyBytes, kManySamples, false);
  EXPECT_EQ(search.found(), 240);
  EXPECT_LE(search.tries().size(), 12U);
}

TEST(BatchSearch, TakesFewerThanEightOnlyWhereEightDoNotFit) {
  EXPECT_EQ(search_alone(linear_bytes, 116, kManySamples).found(), 8);
  EXPECT_EQ(search_alone(linear_bytes, 115, kManySamples).found(), 4);
  EXPECT_EQ(search_alone(linear_bytes, 107, kManySamples).found(), 2);
  EXPECT_EQ(search_alone(linear_bytes, 103, kManySamples).found(), 1);
  const BatchSearch nothing = search_alone(linear_bytes, 101, kManySamples);
  EXPECT_EQ(nothing.found(), 0);
  EXPECT_THAT(sizes_tried(nothing), ElementsAre(8, 4, 2, 1));
}

TEST(BatchSearch, EndsAmongTheFirstSizes) {
  EXPECT_EQ(search_alone(linear_bytes, 140, kManySamples).found(), 16);
  EXPECT_EQ(search_alone(linear_bytes, 148, kManySamples).found(), 24);
}

TEST(BatchSearch, TakesNoMoreThanTheData) {
  const BatchSearch some = search_alone(linear_bytes, kPlentyBytes, 103);
  EXPECT_EQ(some.found(), 96);
  EXPECT_TRUE(some.ends_with_data());
  EXPECT_THAT(sizes_tried(some), ElementsAre(8, 16, 24, 96));
  EXPECT_EQ(search_alone(linear_bytes, kPlentyBytes, 7).found(), 4);
  EXPECT_EQ(search_alone(linear_bytes, kPlentyBytes, 0).found(), 0);
}

TEST(BatchSearch, MemoryThatSamplesDoNotAddToIsNoObstacle) {
  EXPECT_EQ(search_alone([](std::int64_t) { return 10; }, 10, 4096).found(), 4096);
}

}  // namespace
}  // namespace paceline::app
