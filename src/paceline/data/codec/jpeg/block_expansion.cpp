#include "paceline/data/codec/jpeg/block_expansion.h"

#include "paceline/data/codec/jpeg/stored_format.h"

#include <bit>
#include <cstring>

namespace paceline::data::jpeg {
namespace {

bool expand_block(BlockStreams& streams, int& dc, Block& target) {
  std::uint64_t mask = streams.mask();
  const bool has_patches = streams.has_patches();
  ++streams.block;
  std::memset(target.values, 0, sizeof target.values);
  target.end = static_cast<std::int16_t>(end_of_mask(mask));
  const int num_bytes = (std::popcount(mask) + 1) / 2;
  if (streams.nibbles_end - streams.nibbles < num_bytes) return false;
  for (int i = 0; mask != 0; ++i, mask &= mask - 1) {
    const int nibble = streams.nibbles[i / 2] >> (4 * (i % 2)) & 15;
    if (nibble == 0 && streams.escapes == streams.escapes_end) return false;
    const int value =
        nibble != 0 ? nibble - kLargestNibble - 1 : static_cast<std::int8_t>(*streams.escapes++);
    target.values[std::countr_zero(mask)] = static_cast<std::int16_t>(value);
  }
  streams.nibbles += num_bytes;
  if (has_patches && !streams.apply_patches(target)) return false;
  dc += target.values[0];
  target.values[0] = static_cast<std::int16_t>(dc);
  return true;
}

}  // namespace

bool expand_blocks_scalar(BlockStreams& streams, int count, int& dc, Block* target,
                          std::ptrdiff_t step) {
  for (int i = 0; i < count; ++i) {
    if (!expand_block(streams, dc, target[i * step])) return false;
  }
  return true;
}

}  // namespace paceline::data::jpeg
