// Vector code for attention's blocks, for sources that Highway compiles once per instruction set;
// hence the guard, which such a source flips from one to the next.
#if defined(PACELINE_HEAD_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef PACELINE_HEAD_LANES
#undef PACELINE_HEAD_LANES
#else
#define PACELINE_HEAD_LANES
#endif

#include "paceline/nn/attention/head_rows.h"

#include <algorithm>
#include <cstddef>

#ifndef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#endif
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paceline::nn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using HeadTag = hn::ScalableTag<float>;
using HeadVector = hn::Vec<HeadTag>;
using Index = std::ptrdiff_t;

// Of 32 or 16 registers, those that hold sums, and vectors that a row of sums has.
#if HWY_TARGET <= HWY_AVX3
constexpr Index kSums = 16;
constexpr Index kWide = 4;
#else
constexpr Index kSums = 12;
constexpr Index kWide = 3;
#endif
constexpr Index kLanes = hn::MaxLanes(HeadTag());
constexpr Index kGroup = kWide * kLanes;  // tokens that lie side by side in lanes
constexpr Index kBlock = 4 * kSums;       // tokens that lie below each other in rows
static_assert(kQueriesAtOnce % kGroup == 0 && kKeysAtOnce % kGroup == 0);

constexpr float kLog2E = 1.44269504088896340736f;
constexpr float kLn2 = 0.69314718055994530942f;

HWY_INLINE HeadVector all(float value) { return hn::Set(HeadTag(), value); }
HWY_INLINE HeadVector load(const float* from) { return hn::LoadU(HeadTag(), from); }
HWY_INLINE void store(HeadVector value, float* to) { hn::StoreU(value, HeadTag(), to); }

/// 2^x for x below 127, zero below -126.5; NaN stays. Within 1 ulp.
HWY_INLINE HeadVector power_of_two(HeadVector x) {
  // Added to x, it leaves in the low bits x's nearest integer as the exponent of a float.
  const HeadVector rounder = all(0x1.8p23f + 127.0f);
  const HeadVector kept = hn::Max(all(-127.0f), x);  // of the two, NaN is returned if it is second
  const HeadVector rounded = hn::Add(kept, rounder);
  const HeadVector rest = hn::Sub(kept, hn::Sub(rounded, rounder));
  const hn::RebindToSigned<HeadTag> bits;
  const HeadVector power = hn::BitCast(HeadTag(), hn::ShiftLeft<23>(hn::BitCast(bits, rounded)));
  // Least relative error from -0.5 to 0.5 with 1 at 0 (2.6e-9), found by Remez' exchange.
  HeadVector sum = all(1.55946778e-4f);
  sum = hn::MulAdd(sum, rest, all(1.34066434e-3f));
  sum = hn::MulAdd(sum, rest, all(9.61769279e-3f));
  sum = hn::MulAdd(sum, rest, all(5.55031039e-2f));
  sum = hn::MulAdd(sum, rest, all(2.40226522e-1f));
  sum = hn::MulAdd(sum, rest, all(6.93147242e-1f));
  sum = hn::MulAdd(sum, rest, all(1.0f));
  return hn::Mul(sum, power);
}

/// How far apart the values of a product's left side are, from row to row and from one that is
/// summed over to the next.
template <Index kRowStep, Index kInnerStep>
struct LeftSteps {
  static constexpr Index kRow = kRowStep;
  static constexpr Index kInner = kInnerStep;
};

/// kRows rows of product(), from `row` on, in registers.
template <Index kRows, Index kCols, Index kWidth, class Steps, class Start, class Finish>
HWY_INLINE void tile(const float* HWY_RESTRICT left, const float* HWY_RESTRICT right, Index row,
                     Index inner, const Start& start, const Finish& finish) {
  HeadVector sums[kRows][kCols];
#pragma GCC unroll 16
  for (Index r = 0; r < kRows; ++r)
#pragma GCC unroll 16
    for (Index c = 0; c < kCols; ++c) sums[r][c] = start(row + r, c);
  left += row * Steps::kRow;
  for (Index i = 0; i < inner; ++i, left += Steps::kInner, right += kWidth) {
    HeadVector vectors[kCols];
#pragma GCC unroll 16
    for (Index c = 0; c < kCols; ++c) vectors[c] = load(right + c * kLanes);
#pragma GCC unroll 16
    for (Index r = 0; r < kRows; ++r) {
      const HeadVector factor = all(left[r * Steps::kRow]);
#pragma GCC unroll 16
      for (Index c = 0; c < kCols; ++c) sums[r][c] = hn::MulAdd(factor, vectors[c], sums[r][c]);
    }
  }
#pragma GCC unroll 16
  for (Index r = 0; r < kRows; ++r)
#pragma GCC unroll 16
    for (Index c = 0; c < kCols; ++c) finish(row + r, c, sums[r][c]);
}

/// The one form that all of attention's products have: the sum over i of left(row, i) * right[i],
/// where a row of the result, and each row of `right`, kWidth values after the one before, is
/// kCols vectors. Sums begin with start(row, column) and end in finish(row, column, sum).
template <Index kCols, Index kWidth, class Steps, class Start, class Finish>
HWY_INLINE void product(Steps /*steps*/, const float* left, const float* right, Index rows,
                        Index inner, const Start& start, const Finish& finish) {
  constexpr Index kRows = kSums / kCols;
  const Index whole = rows - rows % kRows;
  for (Index row = 0; row < whole; row += kRows)
    tile<kRows, kCols, kWidth, Steps>(left, right, row, inner, start, finish);
  for (Index row = whole; row < rows; ++row)
    tile<1, kCols, kWidth, Steps>(left, right, row, inner, start, finish);
}

/// Copies `count` rows to a block.
template <Index kDim>
HWY_INLINE void to_block(const HeadRows<const float>& rows, Index first, Index count,
                         float* block) {
  for (Index row = 0; row < count; ++row)
    std::copy_n(rows.at(first + row), kDim, block + row * kDim);
}

/// Transposes 4x4 values, times a factor: from the rows at from(0) to from(3) to those at to(0) to
/// to(3).
template <class From, class To>
HWY_INLINE void transpose(const From& from, float factor, const To& to) {
  const hn::FixedTag<float, 4> tag;
  const auto factors = hn::Set(tag, factor);
  const auto row = [&](Index i) HWY_ATTR { return hn::Mul(hn::LoadU(tag, from(i)), factors); };
  const auto row0 = row(0), row1 = row(1), row2 = row(2), row3 = row(3);
  const auto lower01 = hn::InterleaveLower(tag, row0, row1);
  const auto lower23 = hn::InterleaveLower(tag, row2, row3);
  const auto upper01 = hn::InterleaveUpper(tag, row0, row1);
  const auto upper23 = hn::InterleaveUpper(tag, row2, row3);
  hn::StoreU(hn::ConcatLowerLower(tag, lower23, lower01), tag, to(0));
  hn::StoreU(hn::ConcatUpperUpper(tag, lower23, lower01), tag, to(1));
  hn::StoreU(hn::ConcatLowerLower(tag, upper23, upper01), tag, to(2));
  hn::StoreU(hn::ConcatUpperUpper(tag, upper23, upper01), tag, to(3));
}

/// Copies `count` rows, times a factor, to lanes; those beyond repeat the last.
template <Index kDim>
HWY_INLINE void to_lanes(const HeadRows<const float>& rows, Index first, Index count, float factor,
                         float* lanes) {
  for (Index lane = 0; lane < kGroup; lane += 4)
    for (Index i = 0; i < kDim; i += 4)
      transpose([&](Index r) { return rows.at(first + std::min(lane + r, count - 1)) + i; }, factor,
                [&](Index r) { return lanes + (i + r) * kGroup + lane; });
}

/// Copies `count` rows from lanes, times a factor.
template <Index kDim>
HWY_INLINE void from_lanes(const float* lanes, Index first, Index count, float factor,
                           const HeadRows<float>& rows) {
  const Index whole = count - count % 4;
  for (Index lane = 0; lane < whole; lane += 4)
    for (Index i = 0; i < kDim; i += 4)
      transpose([&](Index r) { return lanes + (i + r) * kGroup + lane; }, factor,
                [&](Index r) { return rows.at(first + lane + r) + i; });
  for (Index lane = whole; lane < count; ++lane)
    for (Index i = 0; i < kDim; ++i) rows.at(first + lane)[i] = lanes[i * kGroup + lane] * factor;
}

/// Calls `work` with the columns from which kCols vectors hold all of `count` lanes: once with all
/// vectors of a group, else for one after the other.
template <class Work>
HWY_INLINE void for_columns(Index count, const Work& work) {
  if (count > kGroup - kLanes) {
    work.template operator()<kWide>(0);
  } else {
    for (Index column = 0; column < count; column += kLanes) work.template operator()<1>(column);
  }
}

/// Calls `work` with head_dim as a constant.
template <class Work>
void with_head_dim(std::int64_t head_dim, const Work& work) {
  switch (head_dim) {
    case 16:
      return work.template operator()<16>();
    case 32:
      return work.template operator()<32>();
    case 48:
      return work.template operator()<48>();
    default:
      return work.template operator()<64>();
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::nn
HWY_AFTER_NAMESPACE();

#endif
