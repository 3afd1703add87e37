#include "paceline/data/loader/by_part.h"

#include "paceline/base/error.h"
#include "paceline/data/dataset/concatenation.h"
#include "paceline/data/sources/synthetic.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::unique_ptr<Dataset> parts_of(const std::vector<std::int64_t>& sizes) {
  std::vector<std::unique_ptr<Dataset>> parts;
  for (const std::int64_t size : sizes)
    parts.push_back(open(SyntheticConfig{.num_samples = size, .size = 4}, Split::kTrain));
  return concatenate(std::move(parts));
}

/// How often each sample comes in `num_epochs` epochs.
std::vector<int> counts_of(const Sampler& sampler, std::int64_t size, std::uint64_t num_epochs) {
  std::vector<int> counts(static_cast<std::size_t>(size));
  for (std::uint64_t epoch = 0; epoch < num_epochs; ++epoch) {
    for (std::int64_t place = 0; place < sampler.places_per_epoch(); ++place)
      ++counts.at(static_cast<std::size_t>(sampler.at(epoch, place)));
  }
  return counts;
}

TEST(ByPart, EachEpochHasEachPartsShare) {
  const auto dataset = parts_of({10, 100});
  const auto sampler = make(ByPartConfig{.weights = {3, 1}}, *dataset, 5);
  ASSERT_EQ(sampler->places_per_epoch(), 110);
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    int of_first = 0;
    for (std::int64_t place = 0; place < 110; ++place) {
      if (sampler->at(epoch, place) < 10) ++of_first;
    }
    EXPECT_EQ(of_first, 83) << "82.5, and the other part 27.5: the first of equal remainders";
  }
}

// What draws by weight would not give, nor a quota of the same samples in each epoch.
TEST(ByPart, SamplesOfAPartComeEquallyOften) {
  const auto dataset = parts_of({10, 100});
  const auto sampler = make(ByPartConfig{.weights = {1, 1}, .places_per_epoch = 30}, *dataset, 5);
  const std::vector<int> counts = counts_of(*sampler, 110, 7);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(counts[i], 10.5, 0.5) << i;
  for (std::size_t i = 10; i < 110; ++i) EXPECT_NEAR(counts[i], 1.5, 0.5) << i;
}

TEST(ByPart, PartsAreMixedAndOrdersDiffer) {
  const auto dataset = parts_of({50, 50});
  const auto sampler = make(ByPartConfig{}, *dataset, 5);
  std::vector<std::int64_t> first(100);
  sampler->fill(0, 0, first);
  for (std::int64_t place = 0; place < 100; ++place)
    EXPECT_EQ(first[static_cast<std::size_t>(place)], sampler->at(0, place));
  const auto of_first = std::count_if(first.begin(), first.begin() + 50,
                                      [](std::int64_t sample) { return sample < 50; });
  EXPECT_NEAR(static_cast<double>(of_first), 25, 12);
  std::vector<std::int64_t> other(100);
  sampler->fill(1, 0, other);
  EXPECT_NE(first, other);
  make(ByPartConfig{}, *dataset, 6)->fill(0, 0, other);
  EXPECT_NE(first, other);
  std::ranges::sort(first);
  EXPECT_EQ(std::ranges::unique(first).size(), 0u) << "equal weights of equal parts: each once";
}

TEST(ByPart, RefusesWeightsThatCannotWork) {
  const auto dataset = parts_of({10, 10});
  const auto with = [&](const ByPartConfig& config) {
    return [&dataset, config] { make(config, *dataset, 1); };
  };
  EXPECT_THAT(
      with({.weights = {1, 1, 1}}),
      ThrowsMessage<base::ConfigError>(HasSubstr("3 weights, and the data set has 2 parts")));
  EXPECT_THAT(with({.weights = {0, 0}}), ThrowsMessage<base::ConfigError>(HasSubstr("all are 0")));
  EXPECT_THAT(with({.weights = {1, 0.001}}),
              ThrowsMessage<base::ConfigError>(HasSubstr("part 2 would get none")));
  const auto only_first = make(ByPartConfig{.weights = {1, 0}}, *dataset, 1);
  EXPECT_EQ(counts_of(*only_first, 20, 1),
            (std::vector<int>{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace paceline::data
