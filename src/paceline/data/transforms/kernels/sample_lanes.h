// Vector code that looks at pixels between others, for sources that Highway compiles once per
// instruction set; hence the guard, which such a source flips from one to the next.
#if defined(PACELINE_SAMPLE_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef PACELINE_SAMPLE_LANES
#undef PACELINE_SAMPLE_LANES
#else
#define PACELINE_SAMPLE_LANES
#endif

#include "paceline/data/image/pixels.h"

#include <cstdint>
#include <cstring>

#ifndef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#endif
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paceline::data {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using DoubleVector = hn::Vec<Doubles>;
using PixelWords = hn::Rebind<std::int32_t, Doubles>;
/// Pixels of four bytes, or numbers of rows and columns.
using PixelVector = hn::Vec<PixelWords>;
constexpr int kSampled = static_cast<int>(hn::MaxLanes(Doubles()));

HWY_INLINE DoubleVector doubles(double value) { return hn::Set(Doubles(), value); }

/// Coordinates between pixels of an axis of `size` pixels.
struct Between {
  PixelVector below;   ///< the pixel before; -1 before the first one
  DoubleVector share;  ///< of the next one
  PixelVector last;

  HWY_INLINE Between(DoubleVector coordinate, int size)
      : below(hn::Zero(PixelWords())), share(doubles(0)), last(hn::Set(PixelWords(), size - 1)) {
    // Outside the image any pixels will do.
    const DoubleVector centered =
        hn::Sub(hn::Min(hn::Max(coordinate, doubles(0.0)), doubles(size)), doubles(0.5));
    const DoubleVector floor = hn::Floor(centered);
    below = hn::DemoteTo(PixelWords(), floor);
    share = hn::Sub(centered, floor);
  }
  /// The pixel `distance` behind the one before, or the nearest one inside.
  HWY_INLINE PixelVector at(int distance) const {
    const PixelVector index = hn::Add(below, hn::Set(PixelWords(), distance));
    return hn::Min(hn::Max(index, hn::Zero(PixelWords())), last);
  }
};

/// Pixels at these places, which are inside.
HWY_INLINE PixelVector pixels_at(const PixelView& source, PixelVector row, PixelVector column) {
  const PixelVector stride = hn::Set(PixelWords(), static_cast<std::int32_t>(source.stride));
  const PixelVector offset =
      hn::Add(hn::Mul(row, stride), hn::Mul(column, hn::Set(PixelWords(), 3)));
  return hn::GatherOffset(PixelWords(), reinterpret_cast<const std::int32_t*>(source.pixels),
                          offset);
}

/// A channel of four bytes per pixel.
template <int kChannel>
HWY_INLINE DoubleVector channel_of(PixelVector pixels) {
  return hn::PromoteTo(Doubles(),
                       hn::And(hn::ShiftRight<8 * kChannel>(pixels), hn::Set(PixelWords(), 255)));
}

/// And back, from numbers of 0 to 255, which are cut off.
template <int kChannel>
HWY_INLINE PixelVector to_channel(DoubleVector value) {
  return hn::ShiftLeft<8 * kChannel>(hn::DemoteTo(PixelWords(), value));
}

/// Pillow's mixture.
HWY_INLINE DoubleVector mix(DoubleVector a, DoubleVector b, DoubleVector share) {
  return hn::Add(a, hn::Mul(hn::Sub(b, a), share));
}

/// The pixels around kSampled places, mixed linearly.
class LinearMixture {
 public:
  HWY_INLINE LinearMixture(const PixelView& source, DoubleVector x, DoubleVector y)
      : columns_(x, source.size.width),
        rows_(y, source.size.height),
        upper_left_(pixels_at(source, rows_.at(0), columns_.at(0))),
        upper_right_(pixels_at(source, rows_.at(0), columns_.at(1))),
        lower_left_(pixels_at(source, rows_.at(1), columns_.at(0))),
        lower_right_(pixels_at(source, rows_.at(1), columns_.at(1))) {}

  template <int kChannel>
  HWY_INLINE PixelVector channel() const {
    const DoubleVector above =
        mix(channel_of<kChannel>(upper_left_), channel_of<kChannel>(upper_right_), columns_.share);
    const DoubleVector below =
        mix(channel_of<kChannel>(lower_left_), channel_of<kChannel>(lower_right_), columns_.share);
    return to_channel<kChannel>(mix(above, below, rows_.share));
  }

 private:
  Between columns_;
  Between rows_;
  PixelVector upper_left_;
  PixelVector upper_right_;
  PixelVector lower_left_;
  PixelVector lower_right_;
};

/// Pillow's cubic through four numbers, between the second and the third.
HWY_INLINE DoubleVector cubic(DoubleVector a, DoubleVector b, DoubleVector c, DoubleVector d,
                              DoubleVector share) {
  const DoubleVector second = hn::Sub(c, a);
  const DoubleVector third = hn::Sub(hn::Add(hn::Mul(doubles(2), hn::Sub(a, b)), c), d);
  const DoubleVector fourth = hn::Add(hn::Sub(hn::Sub(b, a), c), d);
  const DoubleVector inner = hn::Add(third, hn::Mul(share, fourth));
  return hn::Add(b, hn::Mul(share, hn::Add(second, hn::Mul(share, inner))));
}

/// The same of 16 pixels, mixed cubically.
class CubicMixture {
 public:
  HWY_INLINE CubicMixture(const PixelView& source, DoubleVector x, DoubleVector y)
      : columns_(x, source.size.width), rows_(y, source.size.height) {
    for (int row = 0; row < 4; ++row) {
      for (int column = 0; column < 4; ++column)
        pixels_[row][column] = pixels_at(source, rows_.at(row - 1), columns_.at(column - 1));
    }
  }

  template <int kChannel>
  HWY_INLINE PixelVector channel() const {
    DoubleVector rows[4];
    for (int row = 0; row < 4; ++row) {
      rows[row] =
          cubic(channel_of<kChannel>(pixels_[row][0]), channel_of<kChannel>(pixels_[row][1]),
                channel_of<kChannel>(pixels_[row][2]), channel_of<kChannel>(pixels_[row][3]),
                columns_.share);
    }
    const DoubleVector mixed = cubic(rows[0], rows[1], rows[2], rows[3], rows_.share);
    return to_channel<kChannel>(hn::Min(hn::Max(mixed, doubles(0)), doubles(255)));
  }

 private:
  Between columns_;
  Between rows_;
  PixelVector pixels_[4][4];
};

/// The pixels themselves at kSampled places.
class NearestPixels {
 public:
  HWY_INLINE NearestPixels(const PixelView& source, DoubleVector x, DoubleVector y)
      : pixels_(pixels_at(source, whole_number(y, source.size.height),
                          whole_number(x, source.size.width))) {}

  template <int kChannel>
  HWY_INLINE PixelVector channel() const {
    return hn::And(pixels_, hn::Set(PixelWords(), 255 << (8 * kChannel)));
  }

 private:
  HWY_INLINE static PixelVector whole_number(DoubleVector coordinate, int size) {
    const DoubleVector inside = hn::Min(hn::Max(coordinate, doubles(0.0)), doubles(size - 1));
    return hn::DemoteTo(PixelWords(), inside);
  }

  PixelVector pixels_;
};

/// What `Sampler` makes of kSampled places, `fill` where they lie outside.
template <class Sampler>
HWY_INLINE PixelVector sample(const PixelView& source, DoubleVector x, DoubleVector y,
                              PixelVector fill) {
  const DoubleVector zero = doubles(0.0);
  const auto is_inside = hn::And(hn::And(hn::Ge(x, zero), hn::Lt(x, doubles(source.size.width))),
                                 hn::And(hn::Ge(y, zero), hn::Lt(y, doubles(source.size.height))));
  if (hn::AllFalse(Doubles(), is_inside)) return fill;
  const Sampler sampler(source, x, y);
  const PixelVector mixed =
      hn::Or(sampler.template channel<0>(),
             hn::Or(sampler.template channel<1>(), sampler.template channel<2>()));
  const PixelVector inside =
      hn::DemoteTo(PixelWords(), hn::IfThenElseZero(is_inside, doubles(1.0)));
  return hn::IfThenElse(hn::Eq(inside, hn::Zero(PixelWords())), fill, mixed);
}

/// Writes three of four bytes of each pixel, and a byte beyond them.
HWY_INLINE void store_sampled(PixelVector pixels, std::uint8_t* target) {
  alignas(32) std::int32_t words[kSampled];
  hn::Store(pixels, PixelWords(), words);
  for (std::ptrdiff_t i = 0; i < kSampled; ++i) std::memcpy(target + 3 * i, &words[i], 4);
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::data
HWY_AFTER_NAMESPACE();

#endif
