// warp.h in vector code, compiled for several instruction sets by Highway; the best one that the
// processor has is chosen at run time. Like Pillow it works in float64.
#include "paceline/data/transforms/warp.h"

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/data/transforms/warp_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After foreach_target.h, which it depends on.
#include "paceline/data/transforms/kernels/sample_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace paceline::data {
namespace HWY_NAMESPACE {

/// Numerators of the places that a row's pixels come from, or their denominator.
struct RowTerm {
  DoubleVector step;
  DoubleVector of_row;
  DoubleVector rest;

  HWY_INLINE RowTerm(double along_row, double along_column, double constant, double y)
      : step(doubles(along_row)), of_row(doubles(along_column * y)), rest(doubles(constant)) {}
  HWY_INLINE DoubleVector at(DoubleVector x) const {
    return hn::Add(hn::Add(hn::Mul(step, x), of_row), rest);
  }
};

template <class Sampler, bool kIsAffine>
void warp_rows(const PixelView& source, const PerspectiveMatrix& m, const FillColor& fill,
               ImageSize size, std::uint8_t* target, std::ptrdiff_t stride) {
  const PixelVector fill_pixels = hn::Set(PixelWords(), fill[0] | fill[1] << 8 | fill[2] << 16);
  for (int y = 0; y < size.height; ++y) {
    const RowTerm columns(m[0], m[1], m[2], y + 0.5);
    const RowTerm rows(m[3], m[4], m[5], y + 0.5);
    const RowTerm depths(m[6], m[7], 1.0, y + 0.5);
    for (int x = 0; x < size.width; x += kSampled) {
      const DoubleVector center = hn::Add(hn::Iota(Doubles(), x), doubles(0.5));
      DoubleVector source_x = columns.at(center);
      DoubleVector source_y = rows.at(center);
      if constexpr (!kIsAffine) {
        const DoubleVector depth = depths.at(center);
        source_x = hn::Div(source_x, depth);
        source_y = hn::Div(source_y, depth);
      }
      store_sampled(sample<Sampler>(source, source_x, source_y, fill_pixels),
                    target + y * stride + std::ptrdiff_t{3} * x);
    }
  }
}

template <class Sampler>
void warp_with(const PixelView& source, const PerspectiveMatrix& m, const FillColor& fill,
               ImageSize size, std::uint8_t* target, std::ptrdiff_t stride) {
  if (m[6] == 0 && m[7] == 0)
    return warp_rows<Sampler, true>(source, m, fill, size, target, stride);
  warp_rows<Sampler, false>(source, m, fill, size, target, stride);
}

void warp_vectorised(const PixelView& source, const PerspectiveMatrix& m,
                     AffineInterpolation interpolation, const FillColor& fill, ImageSize size,
                     std::uint8_t* target, std::ptrdiff_t stride) {
  if (interpolation == AffineInterpolation::kBilinear)
    return warp_with<LinearMixture>(source, m, fill, size, target, stride);
  if (interpolation == AffineInterpolation::kBicubic)
    return warp_with<CubicMixture>(source, m, fill, size, target, stride);
  warp_with<NearestPixels>(source, m, fill, size, target, stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::data
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::data {

HWY_EXPORT(warp_vectorised);

void warp(const PixelView& source, const PerspectiveMatrix& matrix,
          AffineInterpolation interpolation, const FillColor& fill, ImageSize size,
          std::uint8_t* target, std::ptrdiff_t stride) {
  HWY_DYNAMIC_DISPATCH(warp_vectorised)(source, matrix, interpolation, fill, size, target, stride);
}

}  // namespace paceline::data
#endif
