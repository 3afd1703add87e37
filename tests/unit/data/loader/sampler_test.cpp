#include "paceline/data/loader/sampler.h"

#include "paceline/base/error.h"
#include "paceline/data/loader/sample_order.h"
#include "paceline/data/sources/synthetic.h"
#include "support/temp_folder.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// A data set of labels alone.
class Labels final : public Dataset {
 public:
  explicit Labels(std::vector<std::int64_t> labels) : labels_(std::move(labels)) {}
  std::int64_t size() const override { return std::ssize(labels_); }
  int num_classes() const override {
    return static_cast<int>(*std::ranges::max_element(labels_) + 1);
  }
  std::vector<std::string> class_names() const override { return {}; }
  std::int64_t label(std::int64_t index) const override {
    return labels_[static_cast<std::size_t>(index)];
  }
  void get(std::int64_t, StoredSample&) const override {}
  std::string describe(std::int64_t) const override { return ""; }
  std::string fingerprint() const override { return ""; }

 private:
  std::vector<std::int64_t> labels_;
};

Labels of_size(std::int64_t size) {
  return Labels(std::vector<std::int64_t>(static_cast<std::size_t>(size)));
}

std::vector<std::int64_t> epoch_of(const Sampler& sampler, std::uint64_t epoch) {
  std::vector<std::int64_t> samples;
  for (std::int64_t place = 0; place < sampler.places_per_epoch(); ++place)
    samples.push_back(sampler.at(epoch, place));
  return samples;
}

void expect_permutation(std::vector<std::int64_t> samples, std::int64_t size) {
  std::ranges::sort(samples);
  std::vector<std::int64_t> expected(static_cast<std::size_t>(size));
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(samples, expected);
}

TEST(Sampler, ShuffleIsTheSampleOrder) {
  const auto sampler = make(ShuffleConfig{}, of_size(100), 7);
  const SampleOrder order(7, 3, 100);
  for (std::int64_t place = 0; place < 100; ++place)
    EXPECT_EQ(sampler->at(3, place), order.at(place));
}

TEST(Sampler, FillsAsItGivesOneByOne) {
  for (const auto& sampler : {make(ShuffleConfig{}, of_size(100), 7),
                              make(RepeatedAugmentationConfig{}, of_size(100), 7)}) {
    std::vector<std::int64_t> filled(60);
    sampler->fill(3, 40, filled);
    for (std::int64_t i = 0; i < 60; ++i)
      EXPECT_EQ(filled[static_cast<std::size_t>(i)], sampler->at(3, 40 + i));
  }
}

TEST(Sampler, BlocksHoldEverySampleOnceInAnyProportion) {
  for (const std::int64_t size : {1, 2, 7, 64, 65, 100, 1000, 1024}) {
    for (const std::int64_t block : {1, 3, 10, 2000}) {
      for (const std::int64_t window : {1, 2, 7, 1000}) {
        const auto sampler = make(BlockShuffleConfig{block, window}, of_size(size), 5);
        const auto first = epoch_of(*sampler, 0);
        expect_permutation(first, size);
        if (size > 7) {
          EXPECT_NE(epoch_of(*sampler, 1), first) << size;
        }
      }
    }
  }
}

TEST(Sampler, FewBlocksAreInUseAtATime) {
  const auto sampler = make(BlockShuffleConfig{10, 4}, of_size(1000), 5);
  const std::vector<std::int64_t> samples = epoch_of(*sampler, 2);
  for (std::size_t begin = 0; begin + 40 <= samples.size(); begin += 40) {
    std::set<std::int64_t> blocks;
    for (std::size_t i = begin; i < begin + 40; ++i) blocks.insert(samples[i] / 10);
    EXPECT_LE(blocks.size(), 8u) << "two windows at most meet in 40 places";
  }
}

constexpr std::int64_t kClassSize = 640;
constexpr std::int64_t kNumSorted = 100 * kClassSize;

/// The mean number of distinct classes in batches of 256, of a source that is sorted by class or
/// was shuffled when it was written.
double distinct_classes(const Sampler& sampler, bool is_sorted) {
  const SampleOrder written(99, 0, kNumSorted);
  constexpr std::size_t kBatch = 256;
  double distinct = 0;
  int batches = 0;
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    const std::vector<std::int64_t> samples = epoch_of(sampler, epoch);
    for (std::size_t begin = 0; begin + kBatch <= samples.size(); begin += kBatch, ++batches) {
      std::set<std::int64_t> classes;
      for (std::size_t i = begin; i < begin + kBatch; ++i)
        classes.insert((is_sorted ? samples[i] : written.at(samples[i])) / kClassSize);
      distinct += static_cast<double>(classes.size());
    }
  }
  return distinct / batches;
}

// docs/datasets.md has these shares of the uniform shuffle's number.
TEST(Sampler, BlocksMixAsWellAsTheSourceIsMixed) {
  const Labels dataset = of_size(kNumSorted);
  const double uniform = distinct_classes(*make(ShuffleConfig{}, dataset, 1), true);
  const auto share = [&](std::int64_t block, std::int64_t window, bool is_sorted) {
    const auto sampler = make(BlockShuffleConfig{block, window}, dataset, 1);
    return distinct_classes(*sampler, is_sorted) / uniform;
  };
  EXPECT_NEAR(share(64, 64, false), 1, 0.01);
  EXPECT_NEAR(share(64, 16, false), 1, 0.01);
  EXPECT_NEAR(share(8, 512, true), 0.954, 0.01);
  EXPECT_NEAR(share(64, 64, true), 0.53, 0.03);
  EXPECT_NEAR(share(64, 16, true), 0.19, 0.02);
}

TEST(Sampler, RepeatsComeInARowAndAnEpochKeepsItsLength) {
  const auto sampler = make(RepeatedAugmentationConfig{3}, of_size(100), 7);
  const std::vector<std::int64_t> samples = epoch_of(*sampler, 0);
  ASSERT_EQ(samples.size(), 100u);
  std::map<std::int64_t, int> counts;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(samples[i], samples[i / 3 * 3]);
    ++counts[samples[i]];
  }
  EXPECT_EQ(counts.size(), 34u);
  for (const auto& [sample, count] : counts) EXPECT_LE(count, 3) << sample;
}

TEST(Sampler, ClassesComeEquallyOften) {
  std::vector<std::int64_t> labels(90, 0);
  labels.insert(labels.end(), 9, 1);
  labels.push_back(3);  // class 2 is empty
  std::ranges::rotate(labels, labels.begin() + 50);
  const Labels dataset(labels);
  const auto sampler = make(ClassBalancedConfig{}, dataset, 7);
  const std::vector<std::int64_t> samples = epoch_of(*sampler, 0);
  ASSERT_EQ(samples.size(), 100u);
  std::map<std::int64_t, int> of_class;
  std::map<std::int64_t, int> of_sample;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    ++of_class[dataset.label(samples[i])];
    ++of_sample[samples[i]];
    if (i % 3 == 2) {
      EXPECT_EQ(std::set({dataset.label(samples[i]), dataset.label(samples[i - 1]),
                          dataset.label(samples[i - 2])})
                    .size(),
                3u);
    }
  }
  EXPECT_EQ(of_class.size(), 3u);
  for (const auto& [label, count] : of_class) EXPECT_NEAR(count, 33, 1) << label;
  for (const auto& [sample, count] : of_sample) {
    const std::int64_t label = dataset.label(sample);
    EXPECT_NEAR(count, label == 0 ? 1 : label == 1 ? 3.7 : 33, 1) << "of class " << label;
  }
  EXPECT_NE(epoch_of(*sampler, 1), samples);
}

TEST(Sampler, WeightsOfClassesOrSamplesSayHowOften) {
  const TempFolder folder;
  const Labels dataset({0, 0, 1, 1, 1, 2});
  const auto counts = [&](const std::string& text) {
    const auto file = folder.write("weights.txt", text);
    const auto sampler = make(WeightedConfig{file.string()}, dataset, 7);
    std::vector<double> result(6);
    constexpr int kEpochs = 4000;
    for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
      for (const std::int64_t sample : epoch_of(*sampler, epoch))
        result[static_cast<std::size_t>(sample)] += 1.0 / kEpochs;
    }
    return result;
  };
  using ::testing::DoubleNear;
  using ::testing::ElementsAre;
  EXPECT_THAT(counts("1\n2\n0\n"),  // of classes: 2 * 1 + 3 * 2 = 8
              ElementsAre(DoubleNear(0.75, 0.06), DoubleNear(0.75, 0.06), DoubleNear(1.5, 0.08),
                          DoubleNear(1.5, 0.08), DoubleNear(1.5, 0.08), 0));
  EXPECT_THAT(counts("0\n0\n0\n0\n1e3\n3e3"),
              ElementsAre(0, 0, 0, 0, DoubleNear(1.5, 0.08), DoubleNear(4.5, 0.1)));
}

TEST(Sampler, WrongWeightsAreNamed) {
  const TempFolder folder;
  const Labels dataset({0, 0, 1, 1, 1, 2});
  const auto expect_error = [&](const std::string& text, const std::string& problem) {
    const auto file = folder.write("weights.txt", text);
    EXPECT_THAT(
        [&] { make(WeightedConfig{file.string()}, dataset, 7); },
        ThrowsMessage<base::DataError>(AllOf(HasSubstr("weights.txt"), HasSubstr(problem))));
  };
  expect_error("1\n2\n", "2 weights; expected 6, one for each sample, or 3");
  expect_error("1\n-2\n3", ":2: \"-2\"");
  expect_error("1\nx\n3", ":2: \"x\"");
  expect_error("0\n0\n0", "weight 0");
  EXPECT_THROW(make(WeightedConfig{}, dataset, 7), base::ConfigError);
  EXPECT_THROW(make(WeightedConfig{(folder.path() / "absent").string()}, dataset, 7),
               base::DataError);
}

TEST(Sampler, StandInsAreDrawnByTheLawOfTheEpoch) {
  const TempFolder folder;
  const Labels dataset({0, 1, 1, 1, 1, 1, 1, 1, 2, 2});
  const auto counts = [&](const Sampler& sampler) {
    std::vector<double> of_classes(3);
    constexpr int kPlaces = 20'000;
    for (int i = 0; i < kPlaces; ++i) {
      const auto epoch = static_cast<std::uint64_t>(i / 10);
      const std::int64_t sample = sampler.replacement(5, epoch, i % 10, 1 + i % 7);
      EXPECT_EQ(sampler.replacement(5, epoch, i % 10, 1 + i % 7), sample);
      of_classes[static_cast<std::size_t>(dataset.label(sample))] += 1.0 / kPlaces;
    }
    return of_classes;
  };
  using ::testing::DoubleNear;
  using ::testing::ElementsAre;
  const auto file = folder.write("weights.txt", "4\n0\n2\n");
  EXPECT_THAT(counts(*make(WeightedConfig{file.string()}, dataset, 7)),
              ElementsAre(DoubleNear(0.5, 0.02), 0, DoubleNear(0.5, 0.02)));
  EXPECT_THAT(counts(*make(ClassBalancedConfig{}, dataset, 7)),
              ElementsAre(DoubleNear(0.34, 0.03), DoubleNear(0.33, 0.03), DoubleNear(0.33, 0.03)));
  EXPECT_THAT(counts(*make(ShuffleConfig{}, dataset, 7)),
              ElementsAre(DoubleNear(0.1, 0.02), DoubleNear(0.7, 0.02), DoubleNear(0.2, 0.02)));
}

}  // namespace
}  // namespace paceline::data
