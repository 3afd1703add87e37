#include "paceline/data/codec/jpeg/block_expansion.h"

#include "paceline/data/codec/jpeg/header.h"

#include <bit>
#include <cstring>

namespace paceline::data::jpeg {
namespace {

/// The first coefficients in zigzag order, for which the inverse DCT has a shorter way.
constexpr int kCornerEnd = 10;

constexpr std::uint64_t corner_mask() {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < kCornerEnd; ++i) mask |= std::uint64_t{1} << kZigzag[i];
  return mask;
}

/// The value of an escape, which is taken off its stream.
int take_escape(BlockStreams& streams, bool is_wide) {
  if (!is_wide) return static_cast<std::int8_t>(*streams.escapes++);
  std::int16_t value = 0;
  std::memcpy(&value, streams.escapes, sizeof value);
  streams.escapes += sizeof value;
  return value;
}

bool expand_block(BlockStreams& streams, int& dc, Block& target) {
  std::uint64_t mask = 0;
  std::memcpy(&mask, streams.masks + 8 * streams.block, sizeof mask);
  const bool is_wide = (streams.wide_flags[streams.block / 8] >> (streams.block % 8) & 1) != 0;
  ++streams.block;
  std::memset(target.values, 0, sizeof target.values);
  target.end = static_cast<std::int16_t>(end_of_mask(mask));
  const int num_bytes = (std::popcount(mask) + 1) / 2;
  if (streams.nibbles_end - streams.nibbles < num_bytes) return false;
  for (int i = 0; mask != 0; ++i, mask &= mask - 1) {
    const int nibble = streams.nibbles[i / 2] >> (4 * (i % 2)) & 15;
    if (nibble == 0 && streams.escapes_end - streams.escapes < (is_wide ? 2 : 1)) return false;
    const int value = nibble != 0 ? nibble - 8 : take_escape(streams, is_wide);
    target.values[std::countr_zero(mask)] = static_cast<std::int16_t>(value);
  }
  streams.nibbles += num_bytes;
  dc += target.values[0];
  target.values[0] = static_cast<std::int16_t>(dc);
  return true;
}

}  // namespace

int end_of_mask(std::uint64_t mask) {
  if (mask <= 1) return 1;
  return (mask & ~corner_mask()) == 0 ? kCornerEnd : static_cast<int>(kBlockSize);
}

bool expand_blocks_plainly(BlockStreams& streams, int count, int& dc, Block* target,
                           std::ptrdiff_t step) {
  for (int i = 0; i < count; ++i) {
    if (!expand_block(streams, dc, target[i * step])) return false;
  }
  return true;
}

}  // namespace paceline::data::jpeg
