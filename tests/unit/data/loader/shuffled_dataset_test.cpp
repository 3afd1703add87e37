#include "paceline/data/loader/shuffled_dataset.h"

#include "paceline/data/sources/synthetic.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(Shuffled, HoldsEverySampleOnceInAnOrderOfTheSeed) {
  const SyntheticDataset source(50, 7, 4, 0);
  const auto one = shuffled(std::make_unique<SyntheticDataset>(50, 7, 4, 0), 1);
  std::vector<std::string> names;
  std::vector<std::string> places;
  for (std::int64_t i = 0; i < 50; ++i) {
    names.push_back(one->name(i));
    places.push_back(one->describe(i));
    const std::int64_t original = std::stoll(one->name(i));
    EXPECT_EQ(one->label(i), source.label(original));
    StoredSample expected;
    StoredSample got;
    source.get(original, expected);
    one->get(i, got);
    EXPECT_EQ(got.bytes, expected.bytes);
    EXPECT_EQ(got.label, expected.label);
    EXPECT_EQ(one->describe(i), source.describe(original));
  }
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  EXPECT_EQ(std::ranges::unique(sorted).begin(), sorted.end());
  const auto two = shuffled(std::make_unique<SyntheticDataset>(50, 7, 4, 0), 2);
  EXPECT_NE(two->describe(0) + two->describe(1), places[0] + places[1]);
  EXPECT_NE(one->fingerprint(), two->fingerprint());
  EXPECT_NE(one->fingerprint(), source.fingerprint());
  EXPECT_EQ(one->class_names(), source.class_names());
}

}  // namespace
}  // namespace paceline::data
