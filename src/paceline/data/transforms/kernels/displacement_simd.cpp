// displacement.h's sampling in vector code, compiled for several instruction sets by Highway; the
// best one that the processor has is chosen at run time.
#include "paceline/data/transforms/kernels/displacement.h"

#include <algorithm>
#include <cstring>

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/data/transforms/kernels/displacement_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paceline::data {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using PlaceFloats = hn::ScalableTag<float>;
using PlaceWords = hn::RebindToSigned<PlaceFloats>;
using PlaceVector = hn::Vec<PlaceFloats>;
using PlaceNumbers = hn::Vec<PlaceWords>;
constexpr int kPlaces = static_cast<int>(hn::MaxLanes(PlaceFloats()));

HWY_INLINE PlaceVector float_all(float value) { return hn::Set(PlaceFloats(), value); }
HWY_INLINE PlaceNumbers number_all(int value) { return hn::Set(PlaceWords(), value); }

/// Pixels of four bytes at these places, black outside, and 1 where they are inside.
struct PixelsInside {
  PlaceNumbers pixels;
  PlaceVector inside;

  HWY_INLINE PixelsInside(const PixelView& source, PlaceNumbers row, PlaceNumbers column)
      : pixels(hn::Zero(PlaceWords())), inside(float_all(0)) {
    const PlaceNumbers zero = number_all(0);
    const PlaceNumbers bottom = number_all(source.size.height - 1);
    const PlaceNumbers right = number_all(source.size.width - 1);
    const PlaceNumbers near_row = hn::Min(hn::Max(row, zero), bottom);
    const PlaceNumbers near_column = hn::Min(hn::Max(column, zero), right);
    const auto is_inside = hn::And(hn::Eq(near_row, row), hn::Eq(near_column, column));
    const PlaceNumbers offset =
        hn::Add(hn::Mul(near_row, number_all(static_cast<int>(source.stride))),
                hn::Mul(near_column, number_all(3)));
    pixels = hn::IfThenElseZero(
        is_inside, hn::GatherOffset(PlaceWords(),
                                    reinterpret_cast<const std::int32_t*>(source.pixels), offset));
    inside = hn::IfThenElseZero(hn::RebindMask(PlaceFloats(), is_inside), float_all(1));
  }

  template <int kChannel>
  HWY_INLINE PlaceVector channel() const {
    return hn::ConvertTo(PlaceFloats(),
                         hn::And(hn::ShiftRight<8 * kChannel>(pixels), number_all(255)));
  }
};

/// Four of them with their weights.
class MixedPlaces {
 public:
  HWY_INLINE MixedPlaces(const PixelView& source, PlaceVector x, PlaceVector y)
      : MixedPlaces(source, hn::Floor(x), hn::Floor(y), x, y) {}

  template <int kChannel>
  HWY_INLINE PlaceNumbers channel(float fill) const {
    const PlaceVector color =
        sum(upper_left_.channel<kChannel>(), upper_right_.channel<kChannel>(),
            lower_left_.channel<kChannel>(), lower_right_.channel<kChannel>());
    const PlaceVector inside =
        sum(upper_left_.inside, upper_right_.inside, lower_left_.inside, lower_right_.inside);
    const PlaceVector filled =
        hn::Add(hn::Mul(hn::Sub(color, float_all(fill)), inside), float_all(fill));
    const PlaceNumbers whole = hn::NearestInt(filled);
    return hn::ShiftLeft<8 * kChannel>(hn::Min(hn::Max(whole, number_all(0)), number_all(255)));
  }

 private:
  HWY_INLINE MixedPlaces(const PixelView& source, PlaceVector left, PlaceVector top, PlaceVector x,
                         PlaceVector y)
      : right_share_(hn::Sub(x, left)),
        lower_share_(hn::Sub(y, top)),
        upper_left_(source, number(top, 0), number(left, 0)),
        upper_right_(source, number(top, 0), number(left, 1)),
        lower_left_(source, number(top, 1), number(left, 0)),
        lower_right_(source, number(top, 1), number(left, 1)) {}

  HWY_INLINE static PlaceNumbers number(PlaceVector whole, int further) {
    return hn::Add(hn::ConvertTo(PlaceWords(), whole), number_all(further));
  }
  HWY_INLINE PlaceVector sum(PlaceVector a, PlaceVector b, PlaceVector c, PlaceVector d) const {
    const PlaceVector left = hn::Sub(float_all(1), right_share_);
    const PlaceVector upper = hn::Sub(float_all(1), lower_share_);
    const PlaceVector first = hn::Mul(hn::Mul(left, upper), a);
    const PlaceVector second = hn::Mul(hn::Mul(right_share_, upper), b);
    const PlaceVector third = hn::Mul(hn::Mul(left, lower_share_), c);
    const PlaceVector fourth = hn::Mul(hn::Mul(right_share_, lower_share_), d);
    return hn::Add(hn::Add(hn::Add(first, second), third), fourth);
  }

  PlaceVector right_share_;
  PlaceVector lower_share_;
  PixelsInside upper_left_;
  PixelsInside upper_right_;
  PixelsInside lower_left_;
  PixelsInside lower_right_;
};

HWY_INLINE PlaceNumbers sample_places(const PixelView& source, PlaceVector x, PlaceVector y,
                                      bool is_linear, const std::array<std::uint8_t, 3>& fill) {
  if (is_linear) {
    const MixedPlaces mixed(source, x, y);
    return hn::Or(mixed.channel<0>(fill[0]),
                  hn::Or(mixed.channel<1>(fill[1]), mixed.channel<2>(fill[2])));
  }
  const PixelsInside nearest(source, hn::NearestInt(y), hn::NearestInt(x));
  const auto is_inside = hn::RebindMask(PlaceWords(), hn::Gt(nearest.inside, float_all(0.5f)));
  return hn::IfThenElse(is_inside, nearest.pixels,
                        number_all(fill[0] | fill[1] << 8 | fill[2] << 16));
}

void displace_vectorised(const PixelView& source, const DisplacedBy& by, bool is_linear,
                         const std::array<std::uint8_t, 3>& fill, std::uint8_t* target,
                         std::ptrdiff_t stride) {
  const auto [height, width] = source.size;
  // Beyond this all is outside, and whole numbers would not hold it.
  const auto near_image = [](PlaceVector place, int size) HWY_ATTR {
    return hn::Min(hn::Max(place, float_all(-2)), float_all(static_cast<float>(size) + 1));
  };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; x += kPlaces) {
      const auto count = static_cast<std::size_t>(std::min(width - x, kPlaces));
      const PlaceVector columns = hn::Add(hn::ConvertTo(PlaceFloats(), hn::Iota(PlaceWords(), x)),
                                          hn::LoadU(PlaceFloats(), by.columns.row(y) + x));
      const PlaceVector rows =
          hn::Add(float_all(static_cast<float>(y)), hn::LoadU(PlaceFloats(), by.rows.row(y) + x));
      alignas(64) std::int32_t words[kPlaces];
      hn::Store(sample_places(source, near_image(columns, width), near_image(rows, height),
                              is_linear, fill),
                PlaceWords(), words);
      std::uint8_t* const to = target + y * stride + std::ptrdiff_t{3} * x;
      for (std::size_t i = 0; i < count; ++i) std::memcpy(to + 3 * i, &words[i], 4);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::data
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::data {

HWY_EXPORT(displace_vectorised);

void displace(const PixelView& source, const DisplacedBy& by, bool is_linear,
              const std::array<std::uint8_t, 3>& fill, std::uint8_t* target,
              std::ptrdiff_t stride) {
  HWY_DYNAMIC_DISPATCH(displace_vectorised)(source, by, is_linear, fill, target, stride);
}

}  // namespace paceline::data
#endif
