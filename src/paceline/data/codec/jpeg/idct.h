#pragma once

#include "paceline/data/codec/jpeg/coefficients.h"
#include "paceline/data/codec/jpeg/header.h"

#include <cstddef>
#include <cstdint>

namespace paceline::data::jpeg {

/// Vector code may transform this many blocks more than asked for, whose samples are undefined.
inline constexpr int kExtraBlocks = 3;

/// Turns `count` blocks side by side into samples; `target` gets 8 rows, `stride` bytes apart. The
/// arithmetic is that of libjpeg-turbo's accurate transform (jidctint) in vector code, whose 16-bit
/// sums wrap where damaged data make them too large.
void transform_blocks(const Block* blocks, int count, const Quantisers& quantisers,
                      std::uint8_t* target, std::ptrdiff_t stride);

/// The same for one block in scalar code; the oracle in tests.
void transform_block_plainly(const Block& block, const Quantisers& quantisers, std::uint8_t* target,
                             std::ptrdiff_t stride);

namespace idct {

// Fixed-point numbers of jidctint, 13 bits behind the point.
inline constexpr int kConstantBits = 13;
inline constexpr int k0_298 = 2446;
inline constexpr int k0_390 = 3196;
inline constexpr int k0_541 = 4433;
inline constexpr int k0_765 = 6270;
inline constexpr int k0_899 = 7373;
inline constexpr int k1_175 = 9633;
inline constexpr int k1_501 = 12299;
inline constexpr int k1_847 = 15137;
inline constexpr int k1_961 = 16069;
inline constexpr int k2_053 = 16819;
inline constexpr int k2_562 = 20995;
inline constexpr int k3_072 = 25172;

/// Bits that the result of the columns' pass keeps behind the point.
inline constexpr int kKeptBits = 2;
inline constexpr int kColumnShift = kConstantBits - kKeptBits;
/// The rows' pass also divides by 8.
inline constexpr int kRowShift = kConstantBits + kKeptBits + 3;

/// out = (p * a + q * b, p * b + q * c): a rotation with its scale.
struct Rotation {
  int a, b, c;
};
inline constexpr Rotation kEven = {k0_541 + k0_765, k0_541, k0_541 - k1_847};
inline constexpr Rotation kOdd = {k1_175 - k1_961, k1_175, k1_175 - k0_390};
inline constexpr Rotation kOuter = {k0_298 - k0_899, -k0_899, k1_501 - k0_899};
inline constexpr Rotation kInner = {k2_053 - k2_562, -k2_562, k3_072 - k2_562};

}  // namespace idct

}  // namespace paceline::data::jpeg
