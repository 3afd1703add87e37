#include "paceline/data/dataset/val_share.h"

#include "paceline/base/error.h"
#include "unit/data/named_dataset.h"

#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// 0.jpg to N-1.jpg in each of the classes.
std::unique_ptr<Dataset> classes_of(int size, const std::vector<std::string>& classes) {
  std::vector<test::NamedSample> samples;
  for (std::size_t label = 0; label < classes.size(); ++label) {
    for (int i = 0; i < size; ++i)
      samples.push_back({static_cast<std::int64_t>(label), fmt::format("{}.jpg", i)});
  }
  return std::make_unique<test::NamedDataset>(std::move(samples), static_cast<int>(classes.size()),
                                              classes);
}

/// "CLASS/NAME" of each sample.
std::set<std::string> names_of(const Dataset& dataset) {
  std::set<std::string> names;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const auto label = static_cast<std::size_t>(dataset.label(i));
    names.insert(dataset.class_names().at(label) + "/" + dataset.name(i));
  }
  return names;
}

std::set<std::string> held_out(int size, const std::vector<std::string>& classes, double share,
                               std::uint64_t seed) {
  return names_of(*take_share(classes_of(size, classes), share, seed, SharePart::kHeldOut));
}

TEST(ValShare, DividesTheSamples) {
  const auto kept = take_share(classes_of(500, {"cat", "dog"}), 0.1, 3, SharePart::kKept);
  const auto rest = take_share(classes_of(500, {"cat", "dog"}), 0.1, 3, SharePart::kHeldOut);
  EXPECT_EQ(kept->size() + rest->size(), 1000);
  std::set<std::string> all = names_of(*kept);
  all.merge(names_of(*rest));
  EXPECT_EQ(all.size(), 1000u);
  // Five deviations of a binomial draw.
  EXPECT_LT(std::abs(static_cast<double>(rest->size()) - 100), 5 * std::sqrt(1000 * 0.1 * 0.9));
  EXPECT_NE(kept->fingerprint(), rest->fingerprint());
  StoredSample sample;
  rest->get(0, sample);
  EXPECT_EQ(sample.label, rest->label(0));
}

TEST(ValShare, IsAFunctionOfSeedAndNameAlone) {
  const auto few = held_out(100, {"cat", "dog"}, 0.2, 1);
  const auto more = held_out(300, {"bird", "cat", "dog"}, 0.2, 1);  // other labels, more samples
  for (const std::string& name : few) EXPECT_TRUE(more.contains(name)) << name;
  EXPECT_NE(few, held_out(100, {"cat", "dog"}, 0.2, 2));
  const auto larger = held_out(100, {"cat", "dog"}, 0.4, 1);
  for (const std::string& name : few) EXPECT_TRUE(larger.contains(name)) << name;
}

// XXH3 of "0\ncat\n6.jpg" is below 0.15 * 2^64, as the xxhash package of Python has it, too.
// Whoever changes the draw changes what runs are validated on.
TEST(ValShare, StaysWhatItWas) {
  EXPECT_EQ(held_out(12, {"cat", "dog"}, 0.15, 0),
            (std::set<std::string>{"cat/6.jpg", "cat/9.jpg", "dog/1.jpg", "dog/5.jpg"}));
}

TEST(ValShare, AnEmptyPartIsRefused) {
  EXPECT_THAT([] { take_share(classes_of(2, {"cat"}), 1e-9, 0, SharePart::kHeldOut); },
              ThrowsMessage<base::DataError>(HasSubstr("leaves validation without any")));
  EXPECT_THAT([] { take_share(classes_of(2, {"cat"}), 0.999999999, 0, SharePart::kKept); },
              ThrowsMessage<base::DataError>(HasSubstr("leaves training without any")));
}

}  // namespace
}  // namespace paceline::data
