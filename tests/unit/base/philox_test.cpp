#include "paceline/base/philox_lanes.h"

#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::base {
namespace {

// The known-answer vectors that the authors publish with Random123 (philox4x32, 10 rounds).
TEST(Philox, EqualsThePublishedVectors) {
  EXPECT_EQ(Philox::generate({0, 0, 0, 0}, 0, 0),
            (Philox::Block{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(Philox::generate({0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu}, 0xffffffffu,
                             0xffffffffu),
            (Philox::Block{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(Philox::generate({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, 0xa4093822u,
                             0x299f31d0u),
            (Philox::Block{0xd16cfe09u, 0x94fdcceb, 0x5001e420u, 0x24126ea1u}));
}

TEST(Philox, LanesHoldWhatBlocksHold) {
  const Philox draws(7, DrawPurpose::kTest, 3, 4);
  PhiloxLanes<8> lanes;
  Philox::Counter counter;
  for (std::uint32_t i = 0; i < 8; ++i) {
    counter = draws.counter(i);
    for (std::size_t word = 0; word < 4; ++word) lanes.word[word][i] = counter.words[word];
  }
  generate(lanes, counter.key0, counter.key1);
  for (std::uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(
        (Philox::Block{lanes.word[0][i], lanes.word[1][i], lanes.word[2][i], lanes.word[3][i]}),
        draws.block(i));
  }
}

TEST(Philox, KeysGiveDistinctStreams) {
  std::set<std::uint32_t> first;
  for (std::uint64_t seed : {1, 2}) {
    for (auto purpose : {DrawPurpose::kSampleOrder, DrawPurpose::kAugmentation}) {
      for (std::uint64_t group : {0ull, 1ull, 1ull << 32}) {
        for (std::uint64_t position : {0ull, 1ull, 1ull << 32}) {
          first.insert(Philox(seed, purpose, group, position).next());
        }
      }
    }
  }
  EXPECT_EQ(first.size(), 36u);
}

TEST(Philox, UniformIsUniform) {
  Philox draws(7, DrawPurpose::kTest, 0, 0);
  double sum = 0;
  double squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double value = draws.uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.005);
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 0.005);
}

TEST(Philox, NormalHasUnitVariance) {
  Philox draws(7, DrawPurpose::kTest, 1, 0);
  double sum = 0;
  double squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double value = draws.normal();
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.02);
  EXPECT_NEAR(squares / kCount, 1.0, 0.02);
}

TEST(Philox, ShufflesIntoEachOrderAsOften) {
  std::map<std::vector<int>, int> seen;
  constexpr int kCount = 6000;
  for (int i = 0; i < kCount; ++i) {
    Philox draws(7, DrawPurpose::kTest, 2, static_cast<std::uint64_t>(i));
    std::vector<int> items{1, 2, 3};
    shuffle(items, draws);
    ++seen[items];
  }
  ASSERT_EQ(seen.size(), 6u);
  double chi_square = 0;
  for (const auto& [order, count] : seen)
    chi_square += (count - kCount / 6.0) * (count - kCount / 6.0) / (kCount / 6.0);
  EXPECT_LT(chi_square, 20.5) << "of 5 degrees of freedom, beyond 1 in 1000";
}

TEST(Philox, ShufflesNothing) {
  Philox draws(7, DrawPurpose::kTest, 3, 0);
  std::vector<int> none;
  shuffle(none, draws);
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace paceline::base
