// The sums and ranges of image_statistics.h in vector code, compiled for several instruction sets
// by Highway; the best one that the processor has is chosen at run time.
#include "paceline/data/transforms/kernels/image_statistics.h"

#include <algorithm>

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/data/transforms/kernels/image_statistics_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After foreach_target.h, which it depends on.
#include "paceline/data/transforms/kernels/rgb_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace paceline::data {
namespace HWY_NAMESPACE {

std::int64_t luma_sum_vectorised(const PixelView& image) {
  std::int64_t sum = 0;
  for (int y = 0; y < image.size.height; ++y) {
    WordVector row_sum = hn::Zero(Words());
    for (int x = 0; x < image.size.width; x += kPixels) {
      const RgbVector rgb = load_pixels(image.row(y) + std::ptrdiff_t{3} * x);
      const auto left = static_cast<std::size_t>(std::min(image.size.width - x, kPixels));
      row_sum =
          hn::Add(row_sum, hn::IfThenElseZero(hn::FirstN(Words(), left), cut_off(luma_of(rgb))));
    }
    sum += hn::GetLane(hn::SumOfLanes(Words(), row_sum));
  }
  return sum;
}

constexpr std::ptrdiff_t kVectorBytes = hn::MaxLanes(Bytes());

/// Lowest and highest bytes of three vectors' width of an image, which channels alternate in.
struct ByteExtremes {
  ByteVector lowest[3];
  ByteVector highest[3];

  HWY_INLINE ByteExtremes() {
    for (int i = 0; i < 3; ++i) {
      lowest[i] = hn::Set(Bytes(), 255);
      highest[i] = hn::Zero(Bytes());
    }
  }
  HWY_INLINE void add(const std::uint8_t* pixels) {
    for (int i = 0; i < 3; ++i) {
      const ByteVector bytes = hn::LoadU(Bytes(), pixels + i * kVectorBytes);
      lowest[i] = hn::Min(lowest[i], bytes);
      highest[i] = hn::Max(highest[i], bytes);
    }
  }
  ChannelRanges ranges() const {
    std::uint8_t low[3 * kVectorBytes];
    std::uint8_t high[3 * kVectorBytes];
    for (int i = 0; i < 3; ++i) {
      hn::StoreU(lowest[i], Bytes(), low + i * kVectorBytes);
      hn::StoreU(highest[i], Bytes(), high + i * kVectorBytes);
    }
    ChannelRanges found;
    for (std::size_t i = 0; i < sizeof(low); ++i) {
      ChannelRange& range = found[i % 3];
      range.lowest = std::min<int>(range.lowest, low[i]);
      range.highest = std::max<int>(range.highest, high[i]);
    }
    return found;
  }
};

ChannelRanges channel_ranges_vectorised(const PixelView& image) {
  if (image.size.width < kVectorBytes) return channel_ranges_scalar(image);
  ByteExtremes extremes;
  for (int y = 0; y < image.size.height; ++y) {
    // The last vectors end with the row and overlap the ones before.
    const std::ptrdiff_t last = image.size.width - kVectorBytes;
    for (std::ptrdiff_t x = 0; x < last; x += kVectorBytes) extremes.add(image.row(y) + 3 * x);
    extremes.add(image.row(y) + 3 * last);
  }
  return extremes.ranges();
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::data
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::data {

HWY_EXPORT(luma_sum_vectorised);
HWY_EXPORT(channel_ranges_vectorised);

std::int64_t luma_sum(const PixelView& image) {
  return HWY_DYNAMIC_DISPATCH(luma_sum_vectorised)(image);
}

ChannelRanges channel_ranges(const PixelView& image) {
  return HWY_DYNAMIC_DISPATCH(channel_ranges_vectorised)(image);
}

}  // namespace paceline::data
#endif
