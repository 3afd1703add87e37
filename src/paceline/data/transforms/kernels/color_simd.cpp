// The operations of color.h in vector code, compiled for several instruction sets by Highway; the
// best one that the processor has is chosen at run time. The numbers of a pixel are few enough that
// tests compare all of them with the plain code.
#include "paceline/data/transforms/kernels/color.h"

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/data/transforms/kernels/color_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After foreach_target.h, which it depends on.
#include "paceline/data/transforms/kernels/rgb_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace paceline::data {
namespace HWY_NAMESPACE {

/// Blends pixels with their luma.
struct Saturate {
  FloatVector factor;

  HWY_INLINE WordVector blend(FloatVector value, FloatVector gray) const {
    return cut_off(hn::Add(gray, hn::Mul(factor, hn::Sub(value, gray))));
  }
  HWY_INLINE void operator()(const std::uint8_t* from, std::uint8_t* to) const {
    const RgbVector rgb = load_pixels(from);
    const FloatVector gray = hn::Floor(luma_of(rgb));
    store_clamped(blend(rgb.red, gray), blend(rgb.green, gray), blend(rgb.blue, gray), to);
  }
};

/// Pillow's way from RGB to 8-bit HSV, a turn by `shift`, and the way back.
///
/// With m the middle channel's distance from the highest one as a share of the lowest one's, the
/// hue is a whole number + m or - m sixths of the circle. On the way back each channel is the value
/// minus a part of value * saturation that is a piecewise linear function of the hue.
struct TurnHue {
  WordVector shift;  ///< of the hue byte

  struct Extremes {
    FloatVector lowest;
    FloatVector middle;
    FloatVector highest;
  };

  HWY_INLINE static Extremes extremes_of(const RgbVector& rgb) {
    const FloatVector low = hn::Min(rgb.red, rgb.green);
    const FloatVector high = hn::Max(rgb.red, rgb.green);
    return {hn::Min(low, rgb.blue), hn::Max(low, hn::Min(high, rgb.blue)), hn::Max(high, rgb.blue)};
  }

  /// In sixths of the circle, from -1 to 5.
  HWY_INLINE static FloatVector hue_of(const RgbVector& rgb, const Extremes& extremes) {
    const auto is_red = hn::Eq(rgb.red, extremes.highest);
    const auto is_green = hn::Eq(rgb.green, extremes.highest);
    const FloatVector next =
        hn::IfThenElse(is_red, rgb.blue, hn::IfThenElse(is_green, rgb.red, rgb.green));
    const FloatVector base =
        hn::IfThenZeroElse(is_red, hn::IfThenElse(is_green, all(2.0f), all(4.0f)));
    const auto falls = hn::Eq(next, extremes.lowest);
    const FloatVector sign = hn::IfThenElse(falls, all(1.0f), all(-1.0f));
    const FloatVector spread = hn::Sub(extremes.highest, extremes.lowest);
    const FloatVector distance = hn::Sub(extremes.highest, extremes.middle);
    const FloatVector share = hn::Div(distance, hn::Max(spread, all(1.0f)));
    return hn::NegMulAdd(sign, share, hn::Add(base, sign));
  }

  /// Pillow's hue byte, turned.
  HWY_INLINE FloatVector turned(FloatVector hue) const {
    // A correctly rounded division by 6.
    const FloatVector sixth = all(1.0f / 6.0f);
    const FloatVector near = hn::Mul(hue, sixth);
    const FloatVector circle = hn::MulAdd(hn::NegMulAdd(near, all(6.0f), hue), sixth, near);
    const FloatVector wrapped =
        hn::Add(circle, hn::IfThenElseZero(hn::Lt(hue, all(0.0f)), all(1.0f)));
    const WordVector byte = hn::Add(cut_off(hn::Mul(wrapped, all(255.0f))), shift);
    return hn::ConvertTo(Floats(), hn::And(byte, hn::Set(Words(), 255)));
  }

  /// Pillow's saturation byte, for a `highest` above 0. The quotient is whole or at least 1 / 255
  /// below the next number, so an approximate one will do.
  HWY_INLINE static FloatVector saturation_of(FloatVector spread, FloatVector highest) {
    const FloatVector near = hn::ApproximateReciprocal(highest);
    const FloatVector reciprocal = hn::MulAdd(near, hn::NegMulAdd(highest, near, all(1.0f)), near);
    return hn::Floor(hn::MulAdd(hn::Mul(spread, all(255.0f)), reciprocal, all(0.001f)));
  }

  /// |hue - center| - 255, cut to 0 .. 255; all in 1/1530 of the circle.
  HWY_INLINE static FloatVector distance_beyond(FloatVector hue, float center) {
    const FloatVector beyond = hn::Sub(hn::Abs(hn::Sub(hue, all(center))), all(255.0f));
    return hn::Min(hn::Max(beyond, all(0.0f)), all(255.0f));
  }

  /// value - part * color, rounded (none is half-way), in the float's lowest byte.
  HWY_INLINE static WordVector reduced(FloatVector value, FloatVector part, FloatVector color) {
    return hn::BitCast(Words(), hn::NegMulAdd(part, color, hn::Add(value, all(0x1.0p23f))));
  }

  HWY_INLINE void operator()(const std::uint8_t* from, std::uint8_t* to) const {
    const RgbVector rgb = load_pixels(from);
    const Extremes extremes = extremes_of(rgb);
    const FloatVector value = extremes.highest;
    const FloatVector saturation =
        saturation_of(hn::Sub(value, extremes.lowest), hn::Max(value, all(1.0f)));
    const FloatVector color = hn::Mul(hn::Mul(value, all(1.0f / 65025.0f)), saturation);
    const FloatVector hue = hn::Mul(turned(hue_of(rgb, extremes)), all(6.0f));
    const FloatVector red = hn::Sub(all(255.0f), distance_beyond(hue, 765.0f));
    store_lowest(reduced(value, red, color), reduced(value, distance_beyond(hue, 510.0f), color),
                 reduced(value, distance_beyond(hue, 1020.0f), color), to);
  }
};

template <class Change>
HWY_INLINE void change_rows(const PixelView& source, const Change& change, std::uint8_t* target,
                            std::ptrdiff_t stride) {
  for (int y = 0; y < source.size.height; ++y) {
    for (std::ptrdiff_t x = 0; x < source.size.width; x += kPixels) {
      change(source.row(y) + 3 * x, target + y * stride + 3 * x);
    }
  }
}

void saturate_vectorised(const PixelView& source, float factor, std::uint8_t* target,
                         std::ptrdiff_t stride) {
  change_rows(source, Saturate{all(factor)}, target, stride);
}

void turn_hue_vectorised(const PixelView& source, int shift, std::uint8_t* target,
                         std::ptrdiff_t stride) {
  change_rows(source, TurnHue{hn::Set(Words(), shift)}, target, stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::data
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

namespace paceline::data {

HWY_EXPORT(saturate_vectorised);
HWY_EXPORT(turn_hue_vectorised);

void adjust_saturation(const PixelView& source, float factor, std::uint8_t* target,
                       std::ptrdiff_t stride) {
  // Beyond this every difference leads to 0 or 255, and the numbers would not fit into integers.
  constexpr float kLimit = 1e6f;
  HWY_DYNAMIC_DISPATCH(saturate_vectorised)
  (source, std::clamp(factor, -kLimit, kLimit), target, stride);
}

void adjust_hue(const PixelView& source, double turn, std::uint8_t* target, std::ptrdiff_t stride) {
  HWY_DYNAMIC_DISPATCH(turn_hue_vectorised)(source, hue_shift(turn), target, stride);
}

}  // namespace paceline::data
#endif
