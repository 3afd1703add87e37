// sharpness.h in vector code, compiled for several instruction sets by Highway; the best one that
// the processor has is chosen at run time.
#include "paceline/data/transforms/kernels/sharpness.h"

#include <algorithm>
#include <cstring>

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/data/transforms/kernels/sharpness_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After foreach_target.h, which it depends on.
#include "paceline/data/transforms/kernels/rgb_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace paceline::data {
namespace HWY_NAMESPACE {

/// Bytes as two vectors of 16-bit numbers: the even ones and the odd ones.
struct Halves {
  ShortVector even;
  ShortVector odd;
};

HWY_INLINE Halves load_halves(const std::uint8_t* bytes) {
  const hn::RebindToUnsigned<Shorts> unsigned_shorts;
  const auto both = hn::BitCast(unsigned_shorts, hn::LoadU(Bytes(), bytes));
  return {hn::BitCast(Shorts(), hn::And(both, hn::Set(unsigned_shorts, 255))),
          hn::BitCast(Shorts(), hn::ShiftRight<8>(both))};
}

HWY_INLINE Halves sum_of(const Halves& a, const Halves& b) {
  return {hn::Add(a.even, b.even), hn::Add(a.odd, b.odd)};
}

HWY_INLINE Halves row_of_three(const std::uint8_t* middle) {
  return sum_of(load_halves(middle), sum_of(load_halves(middle - 3), load_halves(middle + 3)));
}

/// (sum + 6) / 13 for sums up to 13 * 255.
HWY_INLINE ShortVector thirteenth(ShortVector sum) {
  return hn::MulHigh(hn::Add(sum, hn::Set(Shorts(), 6)), hn::Set(Shorts(), (1 << 16) / 13 + 1));
}

/// smooth + factor * (value - smooth) of 16-bit numbers, clamped later.
HWY_INLINE ShortVector blend(ShortVector value, ShortVector smooth, FloatVector factor) {
  const Shorts shorts;
  const auto zero = hn::Zero(shorts);
  const auto difference = hn::Sub(value, smooth);
  // Interleaved with themselves and shifted, 16-bit numbers become 32-bit ones, still in an order
  // that ReorderDemote2To undoes.
  const auto mixed = [&](ShortVector smooth_pairs, ShortVector difference_pairs) HWY_ATTR {
    const auto base = hn::ConvertTo(Floats(), hn::BitCast(Words(), smooth_pairs));
    const auto change =
        hn::ConvertTo(Floats(), hn::ShiftRight<16>(hn::BitCast(Words(), difference_pairs)));
    return cut_off(hn::Add(base, hn::Mul(factor, change)));
  };
  return hn::ReorderDemote2To(shorts,
                              mixed(hn::InterleaveLower(shorts, smooth, zero),
                                    hn::InterleaveLower(shorts, zero, difference)),
                              mixed(hn::InterleaveUpper(shorts, smooth, zero),
                                    hn::InterleaveUpper(shorts, zero, difference)));
}

HWY_INLINE ShortVector clamped(ShortVector value) {
  return hn::Min(hn::Max(value, hn::Zero(Shorts())), hn::Set(Shorts(), 255));
}

/// A vector's width of bytes whose neighbours are all there.
HWY_INLINE void sharpen_bytes(const PixelView& source, int y, std::ptrdiff_t byte,
                              FloatVector factor, std::uint8_t* target) {
  const Halves value = load_halves(source.row(y) + byte);
  const Halves around =
      sum_of(row_of_three(source.row(y - 1) + byte),
             sum_of(row_of_three(source.row(y) + byte), row_of_three(source.row(y + 1) + byte)));
  const auto smooth = [](ShortVector sum, ShortVector middle)
                          HWY_ATTR { return thirteenth(hn::Add(sum, hn::ShiftLeft<2>(middle))); };
  const auto even = clamped(blend(value.even, smooth(around.even, value.even), factor));
  const auto odd = clamped(blend(value.odd, smooth(around.odd, value.odd), factor));
  hn::StoreU(hn::BitCast(Bytes(), hn::Or(even, hn::ShiftLeft<8>(odd))), Bytes(), target);
}

void sharpen_vectorised(const PixelView& source, float factor, std::uint8_t* target,
                        std::ptrdiff_t stride) {
  const std::ptrdiff_t row_bytes = std::ptrdiff_t{3} * source.size.width;
  const auto step = static_cast<std::ptrdiff_t>(hn::MaxLanes(Bytes()));
  const FloatVector factors = all(factor);
  for (int y = 0; y < source.size.height; ++y) {
    const std::uint8_t* from = source.row(y);
    std::uint8_t* to = target + y * stride;
    if (y == 0 || y + 1 == source.size.height) {
      std::memcpy(to, from, static_cast<std::size_t>(row_bytes));
      continue;
    }
    for (std::ptrdiff_t byte = 3; byte < row_bytes - 3; byte += step) {
      sharpen_bytes(source, y, byte, factors, to + byte);
    }
    std::memcpy(to, from, 3);
    std::memcpy(to + row_bytes - 3, from + row_bytes - 3, 3);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::data
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::data {

HWY_EXPORT(sharpen_vectorised);

void sharpen(const PixelView& source, float factor, std::uint8_t* target, std::ptrdiff_t stride) {
  // Beyond this every difference leads to 0 or 255, and the numbers would not fit into integers.
  constexpr float kLimit = 1e6f;
  HWY_DYNAMIC_DISPATCH(sharpen_vectorised)
  (source, std::clamp(factor, -kLimit, kLimit), target, stride);
}

}  // namespace paceline::data
#endif
