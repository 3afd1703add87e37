#include "paceline/data/codec/jpeg/idct.h"
#include "support/data/instruction_sets.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::data::jpeg {
namespace {

/// Blocks of all sparsities with coefficients up to `largest`.
std::vector<Block> random_blocks(int count, int largest, std::mt19937& random) {
  std::vector<Block> blocks(static_cast<std::size_t>(count));
  const int longest = 1 + static_cast<int>(random() % kBlockSize);
  for (Block& block : blocks) {
    block = {};
    block.end = static_cast<std::int16_t>(1 + random() % static_cast<unsigned>(longest));
    for (int i = 0; i < block.end; ++i) {
      if (random() % 3 == 0) continue;
      block.values[kZigzag[static_cast<std::size_t>(i)]] = static_cast<std::int16_t>(
          static_cast<int>(random() % (2 * static_cast<unsigned>(largest) + 1)) - largest);
    }
    // libjpeg treats blocks with one row of coefficients in its own way.
    if (random() % 8 == 0) std::fill_n(block.values + kBlockSide, 56, std::int16_t{0});
  }
  return blocks;
}

// Also with coefficients of damaged files, which make sums wrap and saturate.
TEST(VectorIdct, EqualsTheScalarCodeOnEveryInstructionSet) {
  constexpr std::ptrdiff_t kStride = 8 * (20 + kExtraBlocks);
  for_each_instruction_set([] {
    std::mt19937 random(11);
    for (const int largest : {8, 100, 1023, 32767}) {
      for (int i = 0; i < 400; ++i) {
        const int count = 1 + static_cast<int>(random() % 20);
        const auto blocks = random_blocks(count, largest, random);
        Quantisers quantisers;
        for (std::int16_t& value : quantisers.values) {
          value = static_cast<std::int16_t>(1 + random() % (i % 2 == 0 ? 4 : 255));
        }
        std::vector<std::uint8_t> fast(8 * kStride);
        transform_blocks(blocks.data(), count, quantisers, fast.data(), kStride);
        for (int x = 0; x < count; ++x) {
          std::uint8_t plain[kBlockSize];
          transform_block_scalar(blocks[static_cast<std::size_t>(x)], quantisers, plain,
                                 kBlockSide);
          for (int row = 0; row < kBlockSide; ++row) {
            const std::uint8_t* samples = fast.data() + row * kStride + 8 * x;
            ASSERT_EQ(std::vector<int>(samples, samples + 8),
                      std::vector<int>(plain + 8 * row, plain + 8 * row + 8))
                << "block " << x << " of " << count << " row " << row << " largest " << largest;
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace paceline::data::jpeg
