#pragma once

#include "paceline/data/codec/jpeg/header.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace paceline::data::jpeg {

// A JPEG file whose entropy coding is undone: the same quantised coefficients, so the same pixels,
// in a form that is read many times faster. It takes about one and a half times the bytes.
//
//   StoredHead | num_quantisers tables of 64 numbers of 16 bits | num_segments + 1 offsets in the
//   body, 32 bits each | the body | kStoredPadding zeros
//
// The body's segments are stretches of kSegmentMcus MCUs of a row, left to right and top to bottom,
// each readable without the others. A segment holds
//   for each block 64 bits: which coefficients, by rows, are not zero (of the first one, whose
//     difference to that of the component's block before in the segment counts);
//   for each block one bit: whether it has patches;
//   the number of bytes with nibbles and of those with escapes, 16 bits each;
//   for each block its values as nibbles, the lower half of a byte first: value + 8, or 0, an
//     escape, for values beyond -7 to 7; each block begins with a byte;
//   the escapes: the lower 8 bits of such a value, with a sign;
//   the patches: for each block that has some their number, 8 bits, and for each 8 bits with the
//     coefficient's place by rows and 8 bits, with a sign, that times 256 are added to it.
// Blocks are ordered by component, row, column. All numbers are little-endian.

inline constexpr std::string_view kStoredMagic = "PACECOE1";
inline constexpr int kSegmentMcus = 8;
inline constexpr std::size_t kMaskBytes = 8;
inline constexpr int kLargestNibble = 7;
/// So that vectors may be read at every byte of the body.
inline constexpr std::size_t kStoredPadding = 64;

struct StoredComponent {
  std::uint8_t columns = 1;
  std::uint8_t rows = 1;
  std::uint8_t quantisers = 0;
};

struct StoredHead {
  char magic[8] = {};
  std::uint16_t width = 0;
  std::uint16_t height = 0;
  std::uint8_t num_components = 0;
  StoredComponent components[kMaxComponents];
  std::uint16_t num_quantisers = 0;
  std::uint32_t num_segments = 0;
  std::uint32_t body_size = 0;
};
static_assert(sizeof(StoredHead) == 32);

struct SegmentLengths {
  std::uint16_t nibble_bytes = 0;
  std::uint16_t escape_bytes = 0;
};

inline int segments_in_row(const Header& header) {
  return (header.mcu_columns() + kSegmentMcus - 1) / kSegmentMcus;
}

}  // namespace paceline::data::jpeg
