#pragma once

#include "paceline/data/codec/jpeg/coefficients.h"
#include "paceline/data/codec/jpeg/header.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace paceline::data::jpeg {

/// The streams of a segment of stored coefficients (stored_format.h), and how far they are read.
/// kStoredPadding bytes behind the end of each must be readable.
struct BlockStreams {
  const std::uint8_t* masks = nullptr;        ///< 8 bytes a block
  const std::uint8_t* patch_flags = nullptr;  ///< a bit a block
  std::size_t block = 0;                      ///< number of the next
  const std::uint8_t* nibbles = nullptr;
  const std::uint8_t* nibbles_end = nullptr;
  const std::uint8_t* escapes = nullptr;
  const std::uint8_t* escapes_end = nullptr;
  const std::uint8_t* patches = nullptr;
  const std::uint8_t* patches_end = nullptr;

  // Of the next block.
  std::uint64_t mask() const {
    std::uint64_t mask = 0;
    std::memcpy(&mask, masks + sizeof mask * block, sizeof mask);
    return mask;
  }
  bool has_patches() const { return (patch_flags[block / 8] >> block % 8 & 1) != 0; }

  /// Adds the next block's patches. False if they end too early or have no place.
  bool apply_patches(Block& target) {
    if (patches == patches_end) return false;
    const int count = *patches++;
    if (patches_end - patches < std::ptrdiff_t{2} * count) return false;
    for (int i = 0; i < count; ++i, patches += 2) {
      if (patches[0] >= kBlockSize) return false;
      target.values[patches[0]] = static_cast<std::int16_t>(
          target.values[patches[0]] + 256 * static_cast<std::int8_t>(patches[1]));
    }
    return true;
  }
};

/// Expands `count` blocks to targets that lie `step` blocks apart; `dc` is the first coefficient of
/// the block before. False if a stream ends too early.
bool expand_blocks(BlockStreams& streams, int count, int& dc, Block* target, std::ptrdiff_t step);

/// The same in plain C++: what the vector code is tested against.
bool expand_blocks_scalar(BlockStreams& streams, int count, int& dc, Block* target,
                          std::ptrdiff_t step);

/// The first coefficients in zigzag order, for which the inverse DCT has a shorter way.
inline constexpr int kCornerEnd = 10;

constexpr std::uint64_t corner_mask() {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < kCornerEnd; ++i) mask |= std::uint64_t{1} << kZigzag[i];
  return mask;
}

/// Block::end for coefficients at the places of `mask`, as exact as the inverse DCT wants it.
constexpr int end_of_mask(std::uint64_t mask) {
  if (mask <= 1) return 1;
  return (mask & ~corner_mask()) == 0 ? kCornerEnd : static_cast<int>(kBlockSize);
}

}  // namespace paceline::data::jpeg
