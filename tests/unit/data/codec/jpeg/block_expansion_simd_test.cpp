#include "paceline/data/codec/jpeg/block_expansion.h"
#include "paceline/data/codec/jpeg/stored_format.h"
#include "support/data/instruction_sets.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::data::jpeg {
namespace {

/// Streams of random bytes, which are as good as any; some end too early.
struct RandomStreams {
  std::vector<std::uint8_t> masks;
  std::vector<std::uint8_t> flags;
  std::vector<std::uint8_t> values;
  std::vector<std::uint8_t> patches;

  RandomStreams(int count, std::mt19937& random) {
    const auto fill = [&](std::vector<std::uint8_t>& bytes, std::size_t size) {
      bytes.resize(size + kStoredPadding);
      for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    };
    fill(masks, static_cast<std::size_t>(count) * kMaskBytes);
    for (std::uint8_t& byte : masks) byte &= static_cast<std::uint8_t>(random());
    fill(flags, static_cast<std::size_t>(count));
    for (std::uint8_t& byte : flags) byte &= byte << 3 & byte << 5;
    fill(values, 2 * (random() % 5 == 0 ? 100 : static_cast<std::size_t>(count) * 128));
    for (std::uint8_t& byte : values) byte = random() % 3 == 0 ? byte & 0xF0 : byte;
    fill(patches, 1000);
    for (std::uint8_t& byte : patches) byte &= 7;
  }

  BlockStreams streams() const {
    BlockStreams streams;
    streams.masks = masks.data();
    streams.patch_flags = flags.data();
    const std::size_t half = (values.size() - kStoredPadding) / 2;
    streams.nibbles = values.data();
    streams.nibbles_end = streams.escapes = values.data() + half;
    streams.escapes_end = values.data() + 2 * half;
    streams.patches = patches.data();
    streams.patches_end = patches.data() + patches.size();
    return streams;
  }
};

TEST(ExpandBlocksVectorised, EqualsThePlainCode) {
  for_each_instruction_set([] {
    std::mt19937 random(3);
    int failures = 0;
    for (int round = 0; round < 500; ++round) {
      const int count = 1 + static_cast<int>(random() % 40);
      const RandomStreams input(count, random);
      std::vector<Block> expected(static_cast<std::size_t>(count));
      std::vector<Block> got(static_cast<std::size_t>(count));
      BlockStreams plain = input.streams();
      BlockStreams fast = input.streams();
      int plain_dc = 100;
      int fast_dc = 100;
      const bool is_sound = expand_blocks_scalar(plain, count, plain_dc, expected.data(), 1);
      ASSERT_EQ(expand_blocks(fast, count, fast_dc, got.data(), 1), is_sound);
      failures += is_sound ? 0 : 1;
      if (!is_sound) continue;
      EXPECT_EQ(fast_dc, plain_dc);
      EXPECT_EQ(fast.nibbles, plain.nibbles);
      EXPECT_EQ(fast.escapes, plain.escapes);
      EXPECT_EQ(fast.patches, plain.patches);
      EXPECT_EQ(fast.block, plain.block);
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_TRUE(std::equal(got[i].values, got[i].values + kBlockSize, expected[i].values));
        EXPECT_EQ(got[i].end, expected[i].end);
      }
    }
    EXPECT_GT(failures, 20);
    EXPECT_LT(failures, 400);
  });
}

}  // namespace
}  // namespace paceline::data::jpeg
