// transform_blocks() in vector code: each 128 bits of a vector hold a row, later a column, of
// another block, so that a vector of 256 bits takes two blocks.
#include "paceline/data/codec/jpeg/idct.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/data/codec/jpeg/idct_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paceline::data::jpeg {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Not wider than 256 bits, because 512 slow down the scalar code that they alternate with.
using Coefficients = hn::CappedTag<std::int16_t, 16>;
using CoefficientVector = hn::Vec<Coefficients>;
using Products = hn::Repartition<std::int32_t, Coefficients>;
using ProductVector = hn::Vec<Products>;
constexpr int kBlocksAtOnce = static_cast<int>(hn::MaxLanes(Coefficients()) / kBlockSide);
static_assert(kBlocksAtOnce - 1 <= kExtraBlocks);

/// Row `row` of the blocks that a vector holds.
template <class D>
HWY_INLINE hn::Vec<D> load_block_rows(D d, const Block* const* blocks, std::ptrdiff_t row) {
  constexpr std::size_t kHeld = hn::MaxLanes(D()) / kBlockSide;
  if constexpr (kHeld == 1) {
    return hn::Load(d, blocks[0]->values + kBlockSide * row);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_block_rows(half, blocks + kHeld / 2, row),
                       load_block_rows(half, blocks, row));
  }
}

/// 32-bit numbers that belong to the lower and upper half of each 128 bits of 16-bit ones.
struct WideVector {
  ProductVector lower;
  ProductVector upper;
};

HWY_INLINE WideVector operator+(const WideVector& a, const WideVector& b) {
  return {hn::Add(a.lower, b.lower), hn::Add(a.upper, b.upper)};
}
HWY_INLINE WideVector operator-(const WideVector& a, const WideVector& b) {
  return {hn::Sub(a.lower, b.lower), hn::Sub(a.upper, b.upper)};
}

/// Alternating elements of two vectors.
struct PairVector {
  CoefficientVector lower;
  CoefficientVector upper;
  HWY_INLINE PairVector(CoefficientVector p, CoefficientVector q)
      : lower(hn::InterleaveLower(Coefficients(), p, q)),
        upper(hn::InterleaveUpper(Coefficients(), p, q)) {}
};

/// sum + p * by_p + q * by_q
HWY_INLINE WideVector add_products(const WideVector& sum, const PairVector& pairs, int by_p,
                                   int by_q) {
  const auto weights = hn::BitCast(
      Coefficients(),
      hn::Set(Products(),
              static_cast<std::int32_t>((by_p & 0xFFFF) |
                                        static_cast<int>(static_cast<unsigned>(by_q) << 16))));
  ProductVector unused = hn::Zero(Products());
  return {hn::ReorderWidenMulAccumulate(Products(), pairs.lower, weights, sum.lower, unused),
          hn::ReorderWidenMulAccumulate(Products(), pairs.upper, weights, sum.upper, unused)};
}

HWY_INLINE WideVector zero_wide() { return {hn::Zero(Products()), hn::Zero(Products())}; }

/// value * 2^13 + `rounding`
HWY_INLINE WideVector scaled(CoefficientVector value, ProductVector rounding) {
  const Coefficients d;
  const auto zero = hn::Zero(d);
  const Products wide;
  constexpr int kShift = 16 - idct::kConstantBits;
  return {hn::Add(hn::ShiftRight<kShift>(hn::BitCast(wide, hn::InterleaveLower(d, zero, value))),
                  rounding),
          hn::Add(hn::ShiftRight<kShift>(hn::BitCast(wide, hn::InterleaveUpper(d, zero, value))),
                  rounding)};
}

template <int kShift>
HWY_INLINE CoefficientVector descaled(const WideVector& value) {
  return hn::ReorderDemote2To(Coefficients(), hn::ShiftRight<kShift>(value.lower),
                              hn::ShiftRight<kShift>(value.upper));
}

/// One transform of eight numbers in each lane, in place. kHalf: the last four are zero.
template <int kShift, bool kHalf>
HWY_INLINE void transform_lines(CoefficientVector (&v)[kBlockSide]) {
  const Coefficients d;
  const auto rounding = hn::Set(Products(), 1 << (kShift - 1));
  const auto zero = hn::Zero(d);
  const PairVector even_in(v[2], kHalf ? zero : v[6]);
  const WideVector even_first = add_products(zero_wide(), even_in, idct::kEven.a, idct::kEven.b);
  const WideVector even_second = add_products(zero_wide(), even_in, idct::kEven.b, idct::kEven.c);
  const WideVector sum = scaled(kHalf ? v[0] : hn::Add(v[0], v[4]), rounding);
  const WideVector difference = kHalf ? sum : scaled(hn::Sub(v[0], v[4]), rounding);

  const PairVector odd_in(kHalf ? v[3] : hn::Add(v[7], v[3]), kHalf ? v[1] : hn::Add(v[5], v[1]));
  const WideVector odd_first = add_products(zero_wide(), odd_in, idct::kOdd.a, idct::kOdd.b);
  const WideVector odd_second = add_products(zero_wide(), odd_in, idct::kOdd.b, idct::kOdd.c);
  const PairVector outer(kHalf ? zero : v[7], v[1]);
  const PairVector inner(kHalf ? zero : v[5], v[3]);
  const auto finish = [](const WideVector& middle, const WideVector& side, CoefficientVector& out,
                         CoefficientVector& mirrored) HWY_ATTR {
    out = descaled<kShift>(middle + side);
    mirrored = descaled<kShift>(middle - side);
  };
  const WideVector side0 = add_products(odd_second, outer, idct::kOuter.b, idct::kOuter.c);
  const WideVector side1 = add_products(odd_first, inner, idct::kInner.b, idct::kInner.c);
  const WideVector side2 = add_products(odd_second, inner, idct::kInner.a, idct::kInner.b);
  const WideVector side3 = add_products(odd_first, outer, idct::kOuter.a, idct::kOuter.b);
  finish(sum + even_first, side0, v[0], v[7]);
  finish(difference + even_second, side1, v[1], v[6]);
  finish(difference - even_second, side2, v[2], v[5]);
  finish(sum - even_first, side3, v[3], v[4]);
}

/// The card players' shuffle of all numbers in each 128 bits; three make a transposition.
HWY_INLINE void shuffle_lines(CoefficientVector (&v)[kBlockSide]) {
  const Coefficients d;
  const auto v1 = v[1];
  const auto v2 = v[2];
  const auto v3 = v[3];
  const auto v4 = v[4];
  const auto v5 = v[5];
  const auto v6 = v[6];
  v[1] = hn::InterleaveUpper(d, v[0], v4);
  v[0] = hn::InterleaveLower(d, v[0], v4);
  v[2] = hn::InterleaveLower(d, v1, v5);
  v[3] = hn::InterleaveUpper(d, v1, v5);
  v[4] = hn::InterleaveLower(d, v2, v6);
  v[5] = hn::InterleaveUpper(d, v2, v6);
  v[6] = hn::InterleaveLower(d, v3, v[7]);
  v[7] = hn::InterleaveUpper(d, v3, v[7]);
}

HWY_INLINE void transpose_lines(CoefficientVector (&v)[kBlockSide]) {
  shuffle_lines(v);
  shuffle_lines(v);
  shuffle_lines(v);
}

/// Two columns of samples, their rows alternating, as bytes.
HWY_INLINE CoefficientVector to_samples(CoefficientVector first, CoefficientVector second) {
  const Coefficients d;
  const auto center = hn::Set(d, 128);
  const auto zero = hn::Zero(d);
  const auto limit = hn::Set(d, 255);
  const auto a = hn::Min(hn::Max(hn::SaturatedAdd(first, center), zero), limit);
  const auto b = hn::Min(hn::Max(hn::SaturatedAdd(second, center), zero), limit);
  return hn::Or(a, hn::ShiftLeft<8>(b));
}

/// Stores two rows of samples of all blocks; `rows` has both rows of a block in 128 bits, and so
/// has `other_rows` of the rows two below.
template <class V>
HWY_INLINE void store_rows(V rows, V other_rows, std::uint8_t* target, std::ptrdiff_t stride) {
  const hn::Repartition<std::uint8_t, Products> bytes;
  const hn::Half<decltype(bytes)> half;
  const hn::Repartition<std::uint64_t, Products> d;
  const auto low = hn::BitCast(d, rows);
  const auto high = hn::BitCast(d, other_rows);
  const auto even = hn::BitCast(bytes, hn::ConcatEven(d, high, low));
  const auto odd = hn::BitCast(bytes, hn::ConcatOdd(d, high, low));
  hn::StoreU(hn::LowerHalf(half, even), half, target);
  hn::StoreU(hn::LowerHalf(half, odd), half, target + stride);
  hn::StoreU(hn::UpperHalf(half, even), half, target + 2 * stride);
  hn::StoreU(hn::UpperHalf(half, odd), half, target + 3 * stride);
}

/// Stores the samples whose columns the vectors hold.
HWY_INLINE void store_columns(const CoefficientVector (&v)[kBlockSide], std::uint8_t* target,
                              std::ptrdiff_t stride) {
  const Coefficients d;
  const Products wide;
  const auto columns01 = to_samples(v[0], v[1]);
  const auto columns23 = to_samples(v[2], v[3]);
  const auto columns45 = to_samples(v[4], v[5]);
  const auto columns67 = to_samples(v[6], v[7]);
  const auto top_left = hn::BitCast(wide, hn::InterleaveLower(d, columns01, columns23));
  const auto top_right = hn::BitCast(wide, hn::InterleaveLower(d, columns45, columns67));
  const auto bottom_left = hn::BitCast(wide, hn::InterleaveUpper(d, columns01, columns23));
  const auto bottom_right = hn::BitCast(wide, hn::InterleaveUpper(d, columns45, columns67));
  store_rows(hn::InterleaveLower(wide, top_left, top_right),
             hn::InterleaveUpper(wide, top_left, top_right), target, stride);
  store_rows(hn::InterleaveLower(wide, bottom_left, bottom_right),
             hn::InterleaveUpper(wide, bottom_left, bottom_right), target + 4 * stride, stride);
}

/// The samples of a vector's blocks. kHalf: only the 4 x 4 coefficients in the corner may be other
/// than zero. False, and nothing done, if a first row is so large that libjpeg's shortcut for
/// blocks of one row might not give the transform's result.
template <bool kHalf>
HWY_INLINE bool transform_group(const Block* const* blocks, const Quantisers& quantisers,
                                std::uint8_t* target, std::ptrdiff_t stride) {
  const Coefficients d;
  const auto load = [&](std::ptrdiff_t row) HWY_ATTR {
    const auto multipliers = hn::LoadDup128(d, quantisers.values.data() + kBlockSide * row);
    return hn::Mul(load_block_rows(d, blocks, row), multipliers);
  };
  const auto zero = hn::Zero(d);
  CoefficientVector v[kBlockSide] = {load(0),
                                     load(1),
                                     load(2),
                                     load(3),
                                     kHalf ? zero : load(4),
                                     kHalf ? zero : load(5),
                                     kHalf ? zero : load(6),
                                     kHalf ? zero : load(7)};
  const auto kept = hn::ShiftRight<idct::kKeptBits>(hn::ShiftLeft<idct::kKeptBits>(v[0]));
  if (!hn::AllTrue(d, hn::Eq(kept, v[0]))) return false;
  transform_lines<idct::kColumnShift, kHalf>(v);
  transpose_lines(v);
  transform_lines<idct::kRowShift, kHalf>(v);
  store_columns(v, target, stride);
  return true;
}

/// Blocks whose first coefficient is the only one.
HWY_INLINE void fill_group(const Block* const* blocks, const Quantisers& quantisers,
                           std::uint8_t* target, std::ptrdiff_t stride) {
  for (int i = 0; i < kBlocksAtOnce; ++i) {
    const int dc = static_cast<std::int16_t>(blocks[i]->values[0] * quantisers.values[0] *
                                             (1 << idct::kKeptBits));
    constexpr int kShift = idct::kRowShift - idct::kConstantBits;
    const int sample = std::clamp(((dc + (1 << (kShift - 1))) >> kShift) + 128, 0, 255);
    for (int row = 0; row < kBlockSide; ++row) {
      std::memset(target + row * stride + std::ptrdiff_t{kBlockSide} * i, sample, kBlockSide);
    }
  }
}

void transform_blocks_vectorised(const Block* blocks, int count, const Quantisers& quantisers,
                                 std::uint8_t* target, std::ptrdiff_t stride) {
  // In zigzag order the first ten coefficients lie in the corner of 4 x 4.
  constexpr int kCornerEnd = 10;
  for (int x = 0; x < count; x += kBlocksAtOnce) {
    const Block* group[kBlocksAtOnce];
    int end = 0;
    for (int i = 0; i < kBlocksAtOnce; ++i) {
      group[i] = blocks + std::min(x + i, count - 1);
      end = std::max(end, static_cast<int>(group[i]->end));
    }
    std::uint8_t* samples = target + std::ptrdiff_t{kBlockSide} * x;
    bool is_done = true;
    if (end <= 1) {
      fill_group(group, quantisers, samples, stride);
    } else if (end <= kCornerEnd) {
      is_done = transform_group<true>(group, quantisers, samples, stride);
    } else {
      is_done = transform_group<false>(group, quantisers, samples, stride);
    }
    for (int i = 0; !is_done && i < kBlocksAtOnce; ++i) {
      transform_block_scalar(*group[i], quantisers, samples + std::ptrdiff_t{kBlockSide} * i,
                             stride);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::data::jpeg
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::data::jpeg {

HWY_EXPORT(transform_blocks_vectorised);

void transform_blocks(const Block* blocks, int count, const Quantisers& quantisers,
                      std::uint8_t* target, std::ptrdiff_t stride) {
  HWY_DYNAMIC_DISPATCH(transform_blocks_vectorised)(blocks, count, quantisers, target, stride);
}

}  // namespace paceline::data::jpeg
#endif
