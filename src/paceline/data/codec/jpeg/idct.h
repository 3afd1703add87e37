#pragma once

#include "paceline/data/codec/jpeg/coefficients.h"
#include "paceline/data/codec/jpeg/header.h"

#include <cstddef>
#include <cstdint>

namespace paceline::data::jpeg {

/// Vector code may transform so many blocks more than asked for, whose samples are undefined.
inline constexpr int kExtraBlocks = 1;

/// Turns `count` blocks side by side into samples; `target` gets 8 rows, `stride` bytes apart. The
/// arithmetic is that of libjpeg-turbo's accurate transform (jidctint) in vector code, whose 16-bit
/// sums wrap where damaged data make them too large.
void transform_blocks(const Block* blocks, int count, const Quantisers& quantisers,
                      std::uint8_t* target, std::ptrdiff_t stride);

/// The same for one block in scalar code; the oracle in tests.
void transform_block_scalar(const Block& block, const Quantisers& quantisers, std::uint8_t* target,
                            std::ptrdiff_t stride);

namespace idct {

// Fixed-point numbers of jidctint, 13 bits behind the point.
inline constexpr int kConstantBits = 13;
inline constexpr int kFix0298 = 2446;
inline constexpr int kFix0390 = 3196;
inline constexpr int kFix0541 = 4433;
inline constexpr int kFix0765 = 6270;
inline constexpr int kFix0899 = 7373;
inline constexpr int kFix1175 = 9633;
inline constexpr int kFix1501 = 12299;
inline constexpr int kFix1847 = 15137;
inline constexpr int kFix1961 = 16069;
inline constexpr int kFix2053 = 16819;
inline constexpr int kFix2562 = 20995;
inline constexpr int kFix3072 = 25172;

/// Bits that the result of the columns' pass keeps behind the point.
inline constexpr int kKeptBits = 2;
inline constexpr int kColumnShift = kConstantBits - kKeptBits;
/// The rows' pass also divides by 8.
inline constexpr int kRowShift = kConstantBits + kKeptBits + 3;

/// out = (p * a + q * b, p * b + q * c): a rotation with its scale.
struct Rotation {
  int a, b, c;
};
inline constexpr Rotation kEven = {kFix0541 + kFix0765, kFix0541, kFix0541 - kFix1847};
inline constexpr Rotation kOdd = {kFix1175 - kFix1961, kFix1175, kFix1175 - kFix0390};
inline constexpr Rotation kOuter = {kFix0298 - kFix0899, -kFix0899, kFix1501 - kFix0899};
inline constexpr Rotation kInner = {kFix2053 - kFix2562, -kFix2562, kFix3072 - kFix2562};

}  // namespace idct

}  // namespace paceline::data::jpeg
