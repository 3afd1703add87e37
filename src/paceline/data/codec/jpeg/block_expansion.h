#pragma once

#include "paceline/data/codec/jpeg/coefficients.h"

#include <cstddef>
#include <cstdint>

namespace paceline::data::jpeg {

/// The streams of a segment of stored coefficients (stored_format.h), and how far they are read.
/// kStoredPadding bytes behind the end of each must be readable.
struct BlockStreams {
  const std::uint8_t* masks = nullptr;       ///< 8 bytes a block
  const std::uint8_t* wide_flags = nullptr;  ///< a bit a block
  std::size_t block = 0;                     ///< number of the next
  const std::uint8_t* nibbles = nullptr;
  const std::uint8_t* nibbles_end = nullptr;
  const std::uint8_t* escapes = nullptr;
  const std::uint8_t* escapes_end = nullptr;
};

/// Expands `count` blocks to targets that lie `step` blocks apart; `dc` is the first coefficient of
/// the block before. False if a stream ends too early.
bool expand_blocks(BlockStreams& streams, int count, int& dc, Block* target, std::ptrdiff_t step);

/// The same in plain C++: what the vector code is tested against.
bool expand_blocks_plainly(BlockStreams& streams, int count, int& dc, Block* target,
                           std::ptrdiff_t step);

/// Block::end for coefficients at the places of `mask`, as exact as the inverse DCT wants it.
int end_of_mask(std::uint64_t mask);

}  // namespace paceline::data::jpeg
