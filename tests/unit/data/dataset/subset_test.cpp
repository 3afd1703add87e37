#include "paceline/data/dataset/subset.h"

#include "paceline/base/error.h"
#include "unit/data/named_dataset.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using test::NamedDataset;
using test::NamedSample;

/// Classes of these sizes, one after the other, with names as ImageNet's.
std::vector<NamedSample> samples_of(const std::vector<int>& class_sizes,
                                    const std::string& ending = ".JPEG") {
  std::vector<NamedSample> samples;
  for (std::size_t label = 0; label < class_sizes.size(); ++label) {
    std::vector<std::string> names;
    for (int i = 0; i < class_sizes[label]; ++i) {
      names.push_back(fmt::format("n{:08d}_{}{}", label, i * 7 % 1000 * 13, ending));
    }
    std::sort(names.begin(), names.end());
    for (std::string& name : names) {
      samples.push_back({static_cast<std::int64_t>(label), std::move(name)});
    }
  }
  return samples;
}

std::unique_ptr<Dataset> subset_of(std::vector<NamedSample> samples, std::int64_t size,
                                   std::uint64_t seed = 1) {
  std::int64_t largest = 0;
  for (const NamedSample& sample : samples) largest = std::max(largest, sample.label);
  const auto num_classes = static_cast<int>(1 + largest);
  return make_subset(std::make_unique<NamedDataset>(std::move(samples), num_classes), size, seed);
}

/// The names up to the first dot or second underscore.
std::set<std::string> stems_of(const Dataset& dataset) {
  std::set<std::string> stems;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const std::string name = dataset.name(i);
    stems.insert(name.substr(0, name.find_first_of("._", 10)));
  }
  return stems;
}

std::vector<int> counts_of(const Dataset& dataset) {
  std::vector<int> counts(static_cast<std::size_t>(dataset.num_classes()));
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    ++counts[static_cast<std::size_t>(dataset.label(i))];
  }
  return counts;
}

TEST(Subset, SharesAreProportionalWithTheLargestRemaindersRoundedUp) {
  // Of 12: 6.0, 3.6, 1.8, 0.48 and 0.12.
  const auto subset = subset_of(samples_of({50, 30, 15, 4, 1}), 12);
  EXPECT_EQ(subset->size(), 12);
  EXPECT_EQ(counts_of(*subset), (std::vector<int>{6, 4, 2, 0, 0}));
  EXPECT_EQ(subset->num_classes(), 5);
  EXPECT_EQ(subset->class_names(), std::vector<std::string>{"of the whole"});
  EXPECT_EQ(counts_of(*subset_of(samples_of({3, 3, 3}), 4)), (std::vector<int>{2, 1, 1}));
  EXPECT_EQ(counts_of(*subset_of(samples_of({1, 2, 3}), 5)), (std::vector<int>{1, 2, 2}));
}

TEST(Subset, AsManyAsClassesAreOneOfEach) {
  std::vector<int> sizes(100, 1300);  // as ImageNet's
  for (std::size_t i = 0; i < 10; ++i) sizes[i * 9] = 732 + static_cast<int>(i) * 50;
  EXPECT_EQ(counts_of(*subset_of(samples_of(sizes), 100)), std::vector<int>(100, 1));
}

TEST(Subset, HoldsDistinctSamplesInTheOrderOfTheWhole) {
  const auto subset = subset_of(samples_of({40, 60}), 31);
  StoredSample sample;
  int last = -1;
  for (std::int64_t i = 0; i < subset->size(); ++i) {
    subset->get(i, sample);
    EXPECT_GT(sample.width, last);
    last = sample.width;
    EXPECT_EQ(sample.label, subset->label(i));
    EXPECT_EQ(subset->describe(i), "file of " + subset->name(i));
  }
}

TEST(Subset, IsTheSameInEveryFormat) {
  const std::set<std::string> expected = stems_of(*subset_of(samples_of({200, 90, 130}), 100));
  std::vector<NamedSample> shuffled = samples_of({200, 90, 130}, ".jpg");
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(3));
  EXPECT_EQ(stems_of(*subset_of(shuffled, 100)), expected);
  EXPECT_EQ(stems_of(*subset_of(samples_of({200, 90, 130}, "_n00000000.JPEG"), 100)), expected);
  EXPECT_NE(stems_of(*subset_of(samples_of({200, 90, 130}), 100, 2)), expected);
}

TEST(Subset, EverySampleIsAsLikely) {
  std::map<std::string, int> counts;
  constexpr int kSeeds = 3000;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const auto subset = subset_of(samples_of({10}), 3, static_cast<std::uint64_t>(seed));
    for (const std::string& stem : stems_of(*subset)) ++counts[stem];
  }
  ASSERT_EQ(counts.size(), 10u);
  for (const auto& [stem, count] : counts) {
    EXPECT_NEAR(count, kSeeds * 3 / 10, 125) << stem;  // five standard deviations
  }
}

TEST(Subset, OfAllIsTheWhole) {
  EXPECT_EQ(subset_of(samples_of({3, 4}), 7)->fingerprint(), "whole");
  EXPECT_EQ(subset_of(samples_of({3, 4}), 500'000)->fingerprint(), "whole");
}

TEST(Subset, FingerprintFollowsSizeAndSeed) {
  const std::string first = subset_of(samples_of({9}), 5)->fingerprint();
  EXPECT_THAT(first, HasSubstr("whole"));
  EXPECT_EQ(subset_of(samples_of({9}), 5)->fingerprint(), first);
  EXPECT_NE(subset_of(samples_of({9}), 4)->fingerprint(), first);
  EXPECT_NE(subset_of(samples_of({9}), 5, 2)->fingerprint(), first);
}

TEST(ParseSubsetSize, KnowsTheNamesAndNumbers) {
  EXPECT_EQ(parse_subset_size("full"), std::nullopt);
  EXPECT_EQ(parse_subset_size("tiny"), 1'000);
  EXPECT_EQ(parse_subset_size("small"), 10'000);
  EXPECT_EQ(parse_subset_size("medium"), 100'000);
  EXPECT_EQ(parse_subset_size("large"), 500'000);
  EXPECT_EQ(parse_subset_size("12345"), 12345);
  for (const char* text : {"", "0", "-3", "1e5", "huge", "12 "}) {
    EXPECT_THAT([&] { parse_subset_size(text); },
                ThrowsMessage<base::ConfigError>(
                    HasSubstr(fmt::format("'{}' is no subset: expected", text))));
  }
}

TEST(RanksBefore, PutsSeparatorsFirst) {
  EXPECT_TRUE(ranks_before("a_2.JPEG", "a_20.JPEG"));
  EXPECT_TRUE(ranks_before("a_2_x.JPEG", "a_20_x.JPEG"));
  EXPECT_TRUE(ranks_before("a_2", "a_20"));
  EXPECT_FALSE(ranks_before("a_20_x", "a_2_x"));
  EXPECT_TRUE(ranks_before("a.b", "a_b"));
  EXPECT_FALSE(ranks_before("a_b", "a.b"));
  EXPECT_FALSE(ranks_before("same", "same"));
}

}  // namespace
}  // namespace paceline::data
