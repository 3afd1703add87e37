#include "paceline/data/sources/synthetic.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(SyntheticDataset, SamplesAreAFunctionOfTheirNumber) {
  const SyntheticDataset whole(100, 7, 16, 0);
  const SyntheticDataset tail(60, 7, 16, 40);
  StoredSample a;
  StoredSample b;
  for (std::int64_t i = 0; i < tail.size(); ++i) {
    whole.get(40 + i, a);
    tail.get(i, b);
    ASSERT_EQ(a.bytes, b.bytes);
    ASSERT_EQ(a.label, b.label);
    ASSERT_EQ(b.label, tail.label(i));
  }
  EXPECT_EQ(a.bytes.size(), 16u * 16u * 3u);
  EXPECT_EQ(a.width, 16);
  EXPECT_EQ(a.height, 16);
}

TEST(SyntheticDataset, SamplesDifferAndRowsTellTheClass) {
  const SyntheticDataset images(40, 4, 32, 0);
  StoredSample a;
  StoredSample b;
  images.get(1, a);
  images.get(5, b);
  EXPECT_EQ(a.label, b.label);
  EXPECT_NE(a.bytes, b.bytes);
  const auto row_mean = [](const StoredSample& sample, std::size_t row) {
    double sum = 0;
    for (std::size_t i = 0; i < 96; ++i) sum += sample.bytes[row * 96 + i];
    return sum / 96;
  };
  // Label 1 has two waves over 32 rows: light at a quarter of the first, dark at three quarters.
  for (const StoredSample& sample : {a, b}) {
    EXPECT_GT(row_mean(sample, 4), row_mean(sample, 12) + 60);
  }
}

TEST(SyntheticDataset, SplitsDiffer) {
  SyntheticConfig config;
  config.num_samples = 30;
  config.num_val_samples = 7;
  const auto train = open(config, Split::kTrain);
  const auto val = open(config, Split::kVal);
  EXPECT_EQ(train->size(), 30);
  EXPECT_EQ(val->size(), 7);
  EXPECT_NE(train->fingerprint(), val->fingerprint());
  StoredSample a;
  StoredSample b;
  train->get(0, a);
  val->get(0, b);
  EXPECT_EQ(a.label, b.label);
  EXPECT_NE(a.bytes, b.bytes);
}

}  // namespace
}  // namespace paceline::data
