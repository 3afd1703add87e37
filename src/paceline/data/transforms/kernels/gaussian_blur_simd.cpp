// gaussian_blur.h in vector code, compiled for several instruction sets by Highway; the best one
// that the processor has is chosen at run time.
#include "paceline/data/transforms/kernels/gaussian_blur.h"

#include <algorithm>
#include <cstring>

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/data/transforms/kernels/gaussian_blur_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paceline::data {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using BlurFloats = hn::ScalableTag<float>;
using BlurWords = hn::RebindToSigned<BlurFloats>;
using BlurBytes = hn::Rebind<std::uint8_t, BlurFloats>;
using BlurVector = hn::Vec<BlurFloats>;
constexpr std::size_t kBlurLanes = hn::MaxLanes(BlurFloats());

/// Sums of four vectors' numbers at once, so that none waits for the one before it.
struct FourSums {
  BlurVector sums[4];

  /// Of weights * the numbers from at(number of the weight) on.
  template <class Place>
  HWY_INLINE FourSums(std::span<const float> weights, const Place& at) {
    const BlurFloats floats;
    for (std::size_t v = 0; v < 4; ++v)
      sums[v] = hn::Mul(hn::Set(floats, weights[0]), hn::LoadU(floats, at(0) + v * kBlurLanes));
    for (std::size_t i = 1; i < weights.size(); ++i) {
      const BlurVector weight = hn::Set(floats, weights[i]);
      const float* const from = at(i);
      for (std::size_t v = 0; v < 4; ++v)
        sums[v] = hn::MulAdd(weight, hn::LoadU(floats, from + v * kBlurLanes), sums[v]);
    }
  }
};

/// Rows of bytes, of which three are a pixel.
struct ByteRows {
  static constexpr int kChannels = 3;
  PixelView source;
  std::uint8_t* target;
  std::ptrdiff_t stride;

  ImageSize size() const { return source.size; }
  void load(int y, float* floats) const {
    for (int i = 0; i < 3 * source.size.width; i += static_cast<int>(kBlurLanes)) {
      const auto words = hn::PromoteTo(BlurWords(), hn::LoadU(BlurBytes(), source.row(y) + i));
      hn::StoreU(hn::ConvertTo(BlurFloats(), words), BlurFloats(), floats + i);
    }
  }
  HWY_INLINE void store(BlurVector sums, int y, std::size_t x) const {
    const auto bytes = hn::DemoteTo(BlurBytes(), hn::NearestInt(sums));
    hn::StoreU(bytes, BlurBytes(), target + y * stride + x);
  }
};

/// Rows of numbers, which are overwritten once they were read.
struct FieldRows {
  static constexpr int kChannels = 1;
  FloatField field;

  ImageSize size() const { return field.size; }
  void load(int y, float* floats) const {
    std::memcpy(floats, field.row(y), static_cast<std::size_t>(field.size.width) * sizeof(float));
  }
  HWY_INLINE void store(BlurVector sums, int y, std::size_t x) const {
    hn::StoreU(sums, BlurFloats(), field.row(y) + x);
  }
};

/// As floats, with `margin` mirrored pixels at both ends.
template <class Rows>
void write_mirrored(const Rows& image, int y, int margin, float* floats) {
  constexpr int kChannels = Rows::kChannels;
  float* const first = floats + std::ptrdiff_t{kChannels} * margin;
  image.load(y, first);
  float* const last = first + std::ptrdiff_t{kChannels} * (image.size().width - 1);
  for (int i = kChannels; i <= kChannels * margin; i += kChannels) {
    std::memcpy(first - i, first + i, kChannels * sizeof(float));
    std::memcpy(last + i, last - i, kChannels * sizeof(float));
  }
}

template <class Rows>
void blur_all(const Rows& image, const BlurRows& rows) {
  const auto [height, width] = image.size();
  const int num_kept = static_cast<int>(rows.along_columns.size());
  const int above = num_kept / 2;
  const auto num_floats =
      static_cast<std::size_t>(Rows::kChannels) * static_cast<std::size_t>(width);
  const auto kept_row = [&](int y) {
    return rows.blurred + static_cast<std::size_t>(y % num_kept) * rows.row_floats;
  };
  for (int y = -above; y < height; ++y) {
    if (const int next = y + above; next < height) {
      write_mirrored(image, next, static_cast<int>(rows.along_rows.size()) / 2, rows.mirrored);
      for (std::size_t x = 0; x < num_floats; x += 4 * kBlurLanes) {
        const FourSums sums(rows.along_rows, [&](std::size_t i) {
          return rows.mirrored + x + static_cast<std::size_t>(Rows::kChannels) * i;
        });
        for (std::size_t v = 0; v < 4; ++v)
          hn::StoreU(sums.sums[v], BlurFloats(), kept_row(next) + x + v * kBlurLanes);
      }
    }
    if (y < 0) continue;
    for (std::size_t x = 0; x < num_floats; x += 4 * kBlurLanes) {
      const FourSums sums(rows.along_columns, [&](std::size_t i) {
        return kept_row(mirrored_index(y - above + static_cast<int>(i), image.size().height)) + x;
      });
      for (std::size_t v = 0; v < 4 && x + v * kBlurLanes < num_floats; ++v)
        image.store(sums.sums[v], y, x + v * kBlurLanes);
    }
  }
}

void blur_bytes_vectorised(const PixelView& source, const BlurRows& rows, std::uint8_t* target,
                           std::ptrdiff_t stride) {
  blur_all(ByteRows{source, target, stride}, rows);
}

void blur_field_vectorised(const FloatField& field, const BlurRows& rows) {
  blur_all(FieldRows{field}, rows);
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::data
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::data {

HWY_EXPORT(blur_bytes_vectorised);
HWY_EXPORT(blur_field_vectorised);

void blur_rows(const PixelView& source, const BlurRows& rows, std::uint8_t* target,
               std::ptrdiff_t stride) {
  HWY_DYNAMIC_DISPATCH(blur_bytes_vectorised)(source, rows, target, stride);
}

void blur_rows(const FloatField& field, const BlurRows& rows) {
  HWY_DYNAMIC_DISPATCH(blur_field_vectorised)(field, rows);
}

}  // namespace paceline::data
#endif
