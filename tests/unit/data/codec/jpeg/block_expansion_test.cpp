#include "paceline/data/codec/jpeg/block_expansion.h"

#include "paceline/data/codec/jpeg/header.h"
#include "paceline/data/codec/jpeg/stored_format.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data::jpeg {
namespace {

TEST(EndOfMask, IsNeverBeforeTheLastCoefficient) {
  EXPECT_EQ(end_of_mask(0), 1);
  EXPECT_EQ(end_of_mask(1), 1);
  for (std::size_t i = 1; i < kBlockSize; ++i) {
    const std::uint64_t mask = std::uint64_t{1} << kZigzag[i];
    EXPECT_GT(end_of_mask(mask), static_cast<int>(i));
    EXPECT_EQ(end_of_mask(mask) <= 10, i < 10);
  }
}

/// The streams of three blocks, by hand: 2 and -7 and 100; nothing; 300 at the last place.
struct ThreeBlocks {
  std::vector<std::uint8_t> masks = std::vector<std::uint8_t>(3 * kMaskBytes);
  std::vector<std::uint8_t> patch_flags = {0b100};
  std::vector<std::uint8_t> nibbles = {0x1A, 0x00, 0x00};
  std::vector<std::uint8_t> escapes = {100, 44};
  std::vector<std::uint8_t> patches = {1, 63, 1};  // 256 + 44
  BlockStreams streams;

  ThreeBlocks() {
    masks[0] = 0b1011;
    masks[16 + 7] = 0x80;
    for (auto* stream : {&masks, &patch_flags, &nibbles, &escapes, &patches})
      stream->reserve(stream->size() + kStoredPadding);
    streams.masks = masks.data();
    streams.patch_flags = patch_flags.data();
    streams.nibbles = nibbles.data();
    streams.nibbles_end = nibbles.data() + nibbles.size();
    streams.escapes = escapes.data();
    streams.escapes_end = escapes.data() + escapes.size();
    streams.patches = patches.data();
    streams.patches_end = patches.data() + patches.size();
  }
};

TEST(ExpandBlocks, PutsValuesInTheirPlacesAndAddsUpTheFirst) {
  ThreeBlocks input;
  Block blocks[3];
  int dc = 5;
  ASSERT_TRUE(expand_blocks_scalar(input.streams, 3, dc, blocks, 1));
  EXPECT_EQ(blocks[0].values[0], 5 + 2);
  EXPECT_EQ(blocks[0].values[1], -7);
  EXPECT_EQ(blocks[0].values[3], 100);
  EXPECT_EQ(blocks[1].values[0], 7);
  EXPECT_EQ(blocks[2].values[0], 7);
  EXPECT_EQ(blocks[2].values[63], 300);
  EXPECT_EQ(blocks[1].end, 1);
  EXPECT_EQ(blocks[2].end, 64);
  EXPECT_EQ(dc, 7);
  EXPECT_EQ(input.streams.nibbles, input.streams.nibbles_end);
  EXPECT_EQ(input.streams.escapes, input.streams.escapes_end);
  EXPECT_EQ(input.streams.patches, input.streams.patches_end);
}

TEST(ExpandBlocks, StopsWhereAStreamEnds) {
  Block blocks[3];
  int dc = 0;
  ThreeBlocks few_nibbles;
  --few_nibbles.streams.nibbles_end;
  EXPECT_FALSE(expand_blocks_scalar(few_nibbles.streams, 3, dc, blocks, 1));
  ThreeBlocks few_escapes;
  --few_escapes.streams.escapes_end;
  EXPECT_FALSE(expand_blocks_scalar(few_escapes.streams, 3, dc, blocks, 1));
  ThreeBlocks few_patches;
  --few_patches.streams.patches_end;
  EXPECT_FALSE(expand_blocks_scalar(few_patches.streams, 3, dc, blocks, 1));
  ThreeBlocks misplaced;
  misplaced.patches[1] = 64;
  EXPECT_FALSE(expand_blocks_scalar(misplaced.streams, 3, dc, blocks, 1));
}

}  // namespace
}  // namespace paceline::data::jpeg
