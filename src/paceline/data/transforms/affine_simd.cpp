// affine.h's copying in vector code, compiled for several instruction sets by Highway; the best one
// that the processor has is chosen at run time.
#include "paceline/data/transforms/affine.h"

#include <algorithm>
#include <cstring>

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/data/transforms/affine_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paceline::data {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Offsets are read back one by one, which takes longer from a vector of 64 bytes.
using Words = hn::CappedTag<std::int32_t, 8>;
using WordVector = hn::Vec<Words>;
constexpr int kPixels = static_cast<int>(hn::MaxLanes(Words()));

HWY_INLINE WordVector all_of(std::int32_t value) { return hn::Set(Words(), value); }

/// Overflow on the way from pixel to pixel inside the image cancels out.
HWY_INLINE std::int32_t low_word(std::int64_t value) { return static_cast<std::int32_t>(value); }

/// Four bytes per pixel, of which the last is overwritten by the next pixel.
HWY_INLINE void copy_pixels(const std::uint8_t* source, const std::int32_t* offsets, int count,
                            std::uint8_t* target) {
  int i = 0;
  for (; i + 4 <= count; i += 4, target += 12) {
    std::memcpy(target, source + offsets[i], 4);
    std::memcpy(target + 3, source + offsets[i + 1], 4);
    std::memcpy(target + 6, source + offsets[i + 2], 4);
    std::memcpy(target + 9, source + offsets[i + 3], 4);
  }
  for (; i < count; ++i, target += 3) std::memcpy(target, source + offsets[i], 4);
}

/// Addresses are computed on vectors; a processor's own gathering is not faster than plain loads.
void copy_walk_vectorised(const PixelView& source, const FixedWalk& walk, int count,
                          std::uint8_t* target) {
  const Words words;
  const WordVector number = hn::Iota(words, 0);
  const WordVector step_x = all_of(low_word(walk.step_x));
  const WordVector step_y = all_of(low_word(walk.step_y));
  WordVector x = hn::Add(all_of(low_word(walk.x)), hn::Mul(number, step_x));
  WordVector y = hn::Add(all_of(low_word(walk.y)), hn::Mul(number, step_y));
  const WordVector stride = all_of(static_cast<std::int32_t>(source.stride));
  alignas(64) std::int32_t offsets[kPixels];
  for (int i = 0; i < count; i += kPixels) {
    const WordVector columns = hn::Mul(hn::ShiftRight<16>(x), all_of(3));
    const WordVector rows = hn::Mul(hn::ShiftRight<16>(y), stride);
    hn::Store(hn::Add(columns, rows), words, offsets);
    copy_pixels(source.pixels, offsets, std::min(count - i, kPixels),
                target + std::ptrdiff_t{3} * i);
    x = hn::Add(x, hn::Mul(step_x, all_of(kPixels)));
    y = hn::Add(y, hn::Mul(step_y, all_of(kPixels)));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::data
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::data {

HWY_EXPORT(copy_walk_vectorised);

void copy_walk(const PixelView& source, const FixedWalk& walk, int count, std::uint8_t* target) {
  if (walk.step_x == 1 << 16 && walk.step_y == 0) {
    std::memcpy(target, source.row(static_cast<int>(walk.y >> 16)) + 3 * (walk.x >> 16),
                std::size_t{3} * static_cast<std::size_t>(count));
  } else {
    HWY_DYNAMIC_DISPATCH(copy_walk_vectorised)(source, walk, count, target);
  }
}

}  // namespace paceline::data
#endif
