// The two passes of resize.h in vector code, compiled for several instruction sets by Highway; the
// best one that the processor has is chosen at run time. Sums are exact integers, so all give the
// same bytes.
#include "paceline/data/transforms/resize.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/data/transforms/resize_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paceline::data {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::ScalableTag<std::uint8_t>;
using Shorts = hn::ScalableTag<std::int16_t>;
using Words = hn::ScalableTag<std::int32_t>;
using WordVector = hn::Vec<Words>;
/// Rows that one vector holds, 16 bytes of each.
constexpr int kRows = static_cast<int>(hn::MaxLanes(Bytes()) / 16);

// Byte orders inside 16 bytes; 0x80 gives zero.
/// Two RGB pixels to the 16-bit numbers R0 R1 G0 G1 B0 B1 0 0, for tap pairs 0-1 and 2-3.
alignas(16) constexpr std::uint8_t kPairs[2][16] = {
    {0, 0x80, 3, 0x80, 1, 0x80, 4, 0x80, 2, 0x80, 5, 0x80, 0x80, 0x80, 0x80, 0x80},
    {6, 0x80, 9, 0x80, 7, 0x80, 10, 0x80, 8, 0x80, 11, 0x80, 0x80, 0x80, 0x80, 0x80}};
/// Pixels 0 and 2, 1 and 3 as alternating bytes RR GG BB XX to four RGB triples.
alignas(16) constexpr std::uint8_t kTriples[16] = {0, 2, 4,  8,  10,   12,   1,    3,
                                                   5, 9, 11, 13, 0x80, 0x80, 0x80, 0x80};
/// Alternating bytes of two runs of eight to one run after the other.
alignas(16) constexpr std::uint8_t kRuns[16] = {0, 2, 4, 6, 8, 10, 12, 14,
                                                1, 3, 5, 7, 9, 11, 13, 15};

/// 16 bytes at `offset` of each of the rows that a vector holds.
template <class D>
HWY_INLINE hn::Vec<D> load_rows(D bytes, const std::uint8_t* const* rows, std::ptrdiff_t offset) {
  constexpr std::size_t kHeld = hn::MaxLanes(D()) / 16;
  if constexpr (kHeld == 1) {
    return hn::LoadU(bytes, rows[0] + offset);
  } else {
    const hn::Half<D> half;
    return hn::Combine(bytes, load_rows(half, rows + kHeld / 2, offset),
                       load_rows(half, rows, offset));
  }
}

/// Two neighbouring weights in every 32-bit lane.
HWY_INLINE hn::Vec<Shorts> weight_pair(const std::int16_t* weights) {
  std::int32_t pair;
  std::memcpy(&pair, weights, sizeof(pair));
  return hn::BitCast(Shorts(), hn::Set(Words(), pair));
}

/// sum += a0 * b0 + a1 * b1 in each 32-bit lane. On x86 Highway adds neighbours and leaves the
/// second sum alone.
HWY_INLINE void add_products(hn::Vec<Shorts> a, hn::Vec<Shorts> b, WordVector& sum) {
  WordVector unused = hn::Zero(Words());
  sum = hn::ReorderWidenMulAccumulate(Words(), a, b, sum, unused);
}

/// The sums of the weights' halves.
struct Sums {
  WordVector high;
  WordVector low;

  HWY_INLINE Sums()
      : high(hn::Zero(Words())), low(hn::Set(Words(), 1 << (ResampleAxis::kPrecisionBits - 1))) {}
  HWY_INLINE void add(hn::Vec<Shorts> pixels, hn::Vec<Shorts> high_weights,
                      hn::Vec<Shorts> low_weights) {
    add_products(pixels, high_weights, high);
    add_products(pixels, low_weights, low);
  }
  HWY_INLINE WordVector value() const {
    return hn::ShiftRight<ResampleAxis::kPrecisionBits>(
        hn::Add(hn::ShiftLeft<ResampleAxis::kLowBits>(high), low));
  }
};

/// Clamps four vectors of sums to bytes; those of a and b alternate with those of c and d.
HWY_INLINE hn::Vec<Bytes> to_bytes(WordVector a, WordVector b, WordVector c, WordVector d) {
  const Shorts shorts;
  const auto limit = hn::Set(shorts, 255);
  const auto zero = hn::Zero(shorts);
  const auto even = hn::Min(hn::Max(hn::ReorderDemote2To(shorts, a, b), zero), limit);
  const auto odd = hn::Min(hn::Max(hn::ReorderDemote2To(shorts, c, d), zero), limit);
  return hn::BitCast(Bytes(), hn::Or(even, hn::ShiftLeft<8>(odd)));
}

/// Output pixel `output` of kRows rows, as 32-bit R G B X per row.
HWY_INLINE WordVector resize_pixel(const std::uint8_t* const* rows, const ResampleAxis& axis,
                                   std::size_t output) {
  const Bytes bytes;
  const auto first_pair = hn::LoadDup128(bytes, kPairs[0]);
  const auto second_pair = hn::LoadDup128(bytes, kPairs[1]);
  const auto taps = static_cast<std::size_t>(axis.taps);
  const std::int16_t* high = axis.high.data() + output * taps;
  const std::int16_t* low = axis.low.data() + output * taps;
  const std::ptrdiff_t start = std::ptrdiff_t{3} * axis.first[output];
  const int count = axis.count[output];
  Sums sums;
  for (int tap = 0; tap < count; tap += ResampleAxis::kGroup) {
    const auto pixels = load_rows(bytes, rows, start + std::ptrdiff_t{3} * tap);
    const auto pair01 = hn::BitCast(Shorts(), hn::TableLookupBytesOr0(pixels, first_pair));
    const auto pair23 = hn::BitCast(Shorts(), hn::TableLookupBytesOr0(pixels, second_pair));
    sums.add(pair01, weight_pair(high + tap), weight_pair(low + tap));
    sums.add(pair23, weight_pair(high + tap + 2), weight_pair(low + tap + 2));
  }
  return sums.value();
}

void resize_rows_vectorised(const PixelView& source, const ResampleAxis& axis, std::uint8_t* target,
                            std::ptrdiff_t stride) {
  const Bytes bytes;
  const auto triples = hn::LoadDup128(bytes, kTriples);
  alignas(64) std::uint8_t packed[hn::MaxLanes(bytes)];
  const std::uint8_t* rows[kRows];
  for (int y = 0; y < source.size.height; y += kRows) {
    const int used = std::min(kRows, source.size.height - y);
    for (int row = 0; row < kRows; ++row) rows[row] = source.row(y + std::min(row, used - 1));
    for (int x = 0; x < axis.outputs; x += ResampleAxis::kGroup) {
      const auto output = static_cast<std::size_t>(x);
      const auto pixels =
          to_bytes(resize_pixel(rows, axis, output), resize_pixel(rows, axis, output + 1),
                   resize_pixel(rows, axis, output + 2), resize_pixel(rows, axis, output + 3));
      hn::Store(hn::TableLookupBytesOr0(pixels, triples), bytes, packed);
      for (int row = 0; row < used; ++row) {
        std::memcpy(target + (y + row) * stride + std::ptrdiff_t{3} * x,
                    packed + std::ptrdiff_t{16} * row, 16);
      }
    }
  }
}

/// One vector's width of bytes of one output row; `rows` are its inputs, an even number.
HWY_INLINE hn::Vec<Bytes> resize_column(const PixelView& source, const ResampleAxis& axis,
                                        std::size_t output, std::ptrdiff_t offset) {
  const Bytes bytes;
  const auto zero = hn::Zero(bytes);
  const auto taps = static_cast<std::size_t>(axis.taps);
  const std::int16_t* high = axis.high.data() + output * taps;
  const std::int16_t* low = axis.low.data() + output * taps;
  const int count = axis.count[output];
  Sums sums[4];
  for (int tap = 0; tap < count; tap += 2) {
    const int row = axis.first[output] + tap;
    const auto a = hn::LoadU(bytes, source.row(row) + offset);
    // An odd last input is paired with itself; its weight there is zero.
    const auto b = hn::LoadU(bytes, source.row(tap + 1 < count ? row + 1 : row) + offset);
    const auto high_weights = weight_pair(high + tap);
    const auto low_weights = weight_pair(low + tap);
    const auto lower = hn::InterleaveLower(bytes, a, b);
    const auto upper = hn::InterleaveUpper(bytes, a, b);
    const Shorts shorts;
    sums[0].add(hn::BitCast(shorts, hn::InterleaveLower(bytes, lower, zero)), high_weights,
                low_weights);
    sums[1].add(hn::BitCast(shorts, hn::InterleaveUpper(bytes, lower, zero)), high_weights,
                low_weights);
    sums[2].add(hn::BitCast(shorts, hn::InterleaveLower(bytes, upper, zero)), high_weights,
                low_weights);
    sums[3].add(hn::BitCast(shorts, hn::InterleaveUpper(bytes, upper, zero)), high_weights,
                low_weights);
  }
  const auto mixed = to_bytes(sums[0].value(), sums[1].value(), sums[2].value(), sums[3].value());
  return hn::TableLookupBytes(mixed, hn::LoadDup128(bytes, kRuns));
}

void resize_columns_vectorised(const PixelView& source, const ResampleAxis& axis,
                               std::uint8_t* target, std::ptrdiff_t stride) {
  const Bytes bytes;
  const std::ptrdiff_t row_bytes = std::ptrdiff_t{3} * source.size.width;
  const auto step = static_cast<std::ptrdiff_t>(hn::Lanes(bytes));
  for (int y = 0; y < axis.outputs; ++y) {
    for (std::ptrdiff_t offset = 0; offset < row_bytes; offset += step) {
      hn::StoreU(resize_column(source, axis, static_cast<std::size_t>(y), offset), bytes,
                 target + y * stride + offset);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::data
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::data {

HWY_EXPORT(resize_rows_vectorised);
HWY_EXPORT(resize_columns_vectorised);

void resize_rows(const PixelView& source, const ResampleAxis& axis, std::uint8_t* target,
                 std::ptrdiff_t stride) {
  HWY_DYNAMIC_DISPATCH(resize_rows_vectorised)(source, axis, target, stride);
}

void resize_columns(const PixelView& source, const ResampleAxis& axis, std::uint8_t* target,
                    std::ptrdiff_t stride) {
  HWY_DYNAMIC_DISPATCH(resize_columns_vectorised)(source, axis, target, stride);
}

}  // namespace paceline::data
#endif
