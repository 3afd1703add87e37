#include "paceline/base/error.h"
#include "rank/app/pairs/method_run.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// Any two methods either train together, and go on after a stop to the same bits, or are refused
// for the reason that the table here names. The pairs are read from the registry.

namespace paceline::app {
namespace {

using ::testing::ThrowsMessage;

constexpr int kRanksOfPair = 2;

struct MethodPair {
  std::string first;
  std::string second;
  std::string strategy;
};

/// Two methods, in the order of their names, that no run may have both of, and what the error says.
struct RefusedPair {
  std::string first;
  std::string second;
  std::vector<std::string> told;
};

const std::vector<RefusedPair> kRefusedPairs{
    {"grad_clip_adaptive",
     "grad_clip_norm",
     {"train.grad_clip_adaptive", "grad_clip_norm", "only one of them is meant"}},
};

/// What two methods need where both are there.
struct PairNeeds {
  std::string first;
  std::string second;
  test::Overrides overrides;
};

const std::vector<PairNeeds> kPairNeeds{
    // Of more layers others are whole blocks.
    {"factorize", "layer_freezing", {"++algorithms.layer_freezing.freeze_level=0.94"}},
    {"layer_freezing", "squeeze_excite", {"++algorithms.layer_freezing.freeze_level=0.951"}},
};

template <class Row>
const Row* row_of(const std::vector<Row>& rows, const MethodPair& pair) {
  const auto found = std::ranges::find_if(
      rows, [&](const Row& row) { return row.first == pair.first && row.second == pair.second; });
  return found == rows.end() ? nullptr : &*found;
}

std::vector<MethodPair> pairs_of_methods() {
  std::vector<MethodPair> pairs;
  const auto registries = make_registries();
  const std::set<std::string> names = test::methods(*registries);
  for (auto first = names.begin(); first != names.end(); ++first) {
    for (auto second = std::next(first); second != names.end(); ++second) {
      for (const std::string strategy : {"ddp", "fsdp"})
        pairs.push_back({*first, *second, strategy});
    }
  }
  return pairs;
}

class MethodPairs : public ::testing::TestWithParam<MethodPair> {
 protected:
  test::MethodRun run_;
};

TEST_P(MethodPairs, TrainTogetherAndResumeToTheSameBitsOrAreRefused) {
  const MethodPair& pair = GetParam();
  test::Overrides overrides = test::overrides_of({pair.first, pair.second}, pair.strategy);
  if (const PairNeeds* const needs = row_of(kPairNeeds, pair))
    overrides.insert(overrides.end(), needs->overrides.begin(), needs->overrides.end());
  if (const RefusedPair* const refused = row_of(kRefusedPairs, pair)) {
    const auto start = [&] {
      run_.train(run_.load(overrides, kRanksOfPair), "refused", kRanksOfPair);
    };
    EXPECT_THAT(start, ThrowsMessage<base::ConfigError>(test::all_of(refused->told)));
    return;
  }
  const LoadedRecipe loaded = run_.load(overrides, kRanksOfPair);
  run_.train(loaded, "whole", kRanksOfPair);
  run_.train(loaded, "resumed", kRanksOfPair, "whole@step-10");
  EXPECT_EQ(run_.remains_of("resumed"), run_.remains_of("whole"));
}

INSTANTIATE_TEST_SUITE_P(All, MethodPairs, ::testing::ValuesIn(pairs_of_methods()),
                         [](const auto& test) {
                           return fmt::format("{}_and_{}_by_{}", test.param.first,
                                              test.param.second, test.param.strategy);
                         });

TEST(MethodPairsTable, HasALineForEveryAlgorithm) {
  const auto registries = make_registries();
  for (const auto& [name, entry] : registries->algorithms.entries()) {
    EXPECT_TRUE(test::kMethods.contains(name))
        << "write down in tests/rank/app/pairs/methods.h the least settings with which algorithms."
        << name << " does something within 20 steps of its recipe; then run app_test "
        << "--gtest_filter='*MethodPairs*" << name << "*', and give each pair that must be refused "
        << "a line in tests/rank/app/pairs/method_pairs_test.cpp";
  }
}

TEST(MethodPairsTable, SpeaksOfMethodsThatThereAre) {
  const auto expect_pair = [](const std::string& first, const std::string& second) {
    EXPECT_TRUE(test::kMethods.contains(first)) << first;
    EXPECT_TRUE(test::kMethods.contains(second)) << second;
    EXPECT_LT(first, second) << "pairs are in the order of their names";
  };
  for (const RefusedPair& pair : kRefusedPairs) expect_pair(pair.first, pair.second);
  for (const PairNeeds& pair : kPairNeeds) expect_pair(pair.first, pair.second);
}

}  // namespace
}  // namespace paceline::app
