// affine.h's mixing of pixels in vector code, compiled for several instruction sets by Highway; the
// best one that the processor has is chosen at run time. Like Pillow it works in float64.
#include "paceline/data/transforms/affine.h"

#include <cstring>

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/data/transforms/affine_bilinear_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paceline::data {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using DoubleVector = hn::Vec<Doubles>;
using Words = hn::Rebind<std::int32_t, Doubles>;
using WordVector = hn::Vec<Words>;
constexpr int kPixels = static_cast<int>(hn::MaxLanes(Doubles()));

HWY_INLINE DoubleVector all(double value) { return hn::Set(Doubles(), value); }

/// A coordinate between two pixels of an axis of `size` pixels.
struct Between {
  WordVector first;
  WordVector second;   ///< both inside the axis
  DoubleVector share;  ///< of the second one

  HWY_INLINE Between(DoubleVector coordinate, int size)
      : first(hn::Zero(Words())), second(first), share(all(0)) {
    // Outside the image any pixels will do.
    const DoubleVector centered =
        hn::Sub(hn::Min(hn::Max(coordinate, all(0.0)), all(size)), all(0.5));
    const DoubleVector below = hn::Floor(centered);
    const WordVector last = hn::Set(Words(), size - 1);
    const WordVector index = hn::DemoteTo(Words(), below);
    share = hn::Sub(centered, below);
    first = hn::Min(hn::Max(index, hn::Zero(Words())), last);
    second = hn::Min(hn::Add(index, hn::Set(Words(), 1)), last);
  }
};

/// Pillow's mixture.
HWY_INLINE DoubleVector mix(DoubleVector a, DoubleVector b, DoubleVector share) {
  return hn::Add(a, hn::Mul(hn::Sub(b, a), share));
}

/// A channel of four bytes per pixel.
template <int kChannel>
HWY_INLINE DoubleVector channel_of(WordVector pixels) {
  return hn::PromoteTo(Doubles(),
                       hn::And(hn::ShiftRight<8 * kChannel>(pixels), hn::Set(Words(), 255)));
}

/// The pixels around kPixels places.
struct Corners {
  WordVector upper_left;
  WordVector upper_right;
  WordVector lower_left;
  WordVector lower_right;

  HWY_INLINE static WordVector load(const PixelView& source, WordVector row, WordVector column) {
    const WordVector stride = hn::Set(Words(), static_cast<std::int32_t>(source.stride));
    const WordVector offset = hn::Add(hn::Mul(row, stride), hn::Mul(column, hn::Set(Words(), 3)));
    return hn::GatherOffset(Words(), reinterpret_cast<const std::int32_t*>(source.pixels), offset);
  }
  HWY_INLINE Corners(const PixelView& source, const Between& x, const Between& y)
      : upper_left(load(source, y.first, x.first)),
        upper_right(load(source, y.first, x.second)),
        lower_left(load(source, y.second, x.first)),
        lower_right(load(source, y.second, x.second)) {}

  template <int kChannel>
  HWY_INLINE WordVector mixed(DoubleVector right_share, DoubleVector lower_share) const {
    const DoubleVector above =
        mix(channel_of<kChannel>(upper_left), channel_of<kChannel>(upper_right), right_share);
    const DoubleVector below =
        mix(channel_of<kChannel>(lower_left), channel_of<kChannel>(lower_right), right_share);
    return hn::ShiftLeft<8 * kChannel>(hn::DemoteTo(Words(), mix(above, below, lower_share)));
  }
};

/// kPixels pixels of four bytes, mixed from the places (x, y), `fill` where they lie outside.
HWY_INLINE WordVector transform_pixels(const PixelView& source, DoubleVector x, DoubleVector y,
                                       WordVector fill) {
  const DoubleVector zero = all(0.0);
  const auto is_inside = hn::And(hn::And(hn::Ge(x, zero), hn::Lt(x, all(source.size.width))),
                                 hn::And(hn::Ge(y, zero), hn::Lt(y, all(source.size.height))));
  if (hn::AllFalse(Doubles(), is_inside)) return fill;
  const Between columns(x, source.size.width);
  const Between rows(y, source.size.height);
  const Corners corners(source, columns, rows);
  const WordVector red = corners.mixed<0>(columns.share, rows.share);
  const WordVector green = corners.mixed<1>(columns.share, rows.share);
  const WordVector blue = corners.mixed<2>(columns.share, rows.share);
  const WordVector inside = hn::DemoteTo(Words(), hn::IfThenElseZero(is_inside, all(1.0)));
  return hn::IfThenElse(hn::Eq(inside, hn::Zero(Words())), fill, hn::Or(red, hn::Or(green, blue)));
}

void transform_bilinear_vectorised(const PixelView& source, const AffineMatrix& m,
                                   const FillColor& fill, std::uint8_t* target,
                                   std::ptrdiff_t stride) {
  const WordVector fill_pixels = hn::Set(Words(), fill[0] | fill[1] << 8 | fill[2] << 16);
  for (int y = 0; y < source.size.height; ++y) {
    for (int x = 0; x < source.size.width; x += kPixels) {
      const DoubleVector center = hn::Add(hn::Iota(Doubles(), x), all(0.5));
      const DoubleVector source_x =
          hn::Add(hn::Add(hn::Mul(all(m[0]), center), all(m[1] * (y + 0.5))), all(m[2]));
      const DoubleVector source_y =
          hn::Add(hn::Add(hn::Mul(all(m[3]), center), all(m[4] * (y + 0.5))), all(m[5]));
      alignas(32) std::int32_t pixels[kPixels];
      hn::Store(transform_pixels(source, source_x, source_y, fill_pixels), Words(), pixels);
      std::uint8_t* to = target + y * stride + std::ptrdiff_t{3} * x;
      for (int i = 0; i < kPixels; ++i) std::memcpy(to + std::ptrdiff_t{3} * i, &pixels[i], 4);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::data
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::data {

HWY_EXPORT(transform_bilinear_vectorised);

void transform_bilinear(const PixelView& source, const AffineMatrix& matrix, const FillColor& fill,
                        std::uint8_t* target, std::ptrdiff_t stride) {
  HWY_DYNAMIC_DISPATCH(transform_bilinear_vectorised)(source, matrix, fill, target, stride);
}

}  // namespace paceline::data
#endif
