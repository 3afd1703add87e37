#pragma once

#include "paceline/data/image/pixels.h"

#include <array>
#include <cstdint>

namespace paceline::data {

/// Lowest and highest value of a channel.
struct ChannelRange {
  int lowest = 255;
  int highest = 0;
};
/// Of red, green and blue.
using ChannelRanges = std::array<ChannelRange, 3>;

/// How often each byte occurs.
using Histogram = std::array<std::uint32_t, 256>;
using ChannelHistograms = std::array<Histogram, 3>;

/// ITU-R 601 luma in Pillow's 16-bit fixed point.
inline int luma(int red, int green, int blue) {
  return (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16;
}

// Up to PixelBuffer::kPadding bytes beyond the last pixel of `image` are read.

/// Of all pixels.
std::int64_t luma_sum(const PixelView& image);
/// The mean luma, rounded as ImageEnhance.Contrast does.
int mean_luma(const PixelView& image);
ChannelRanges channel_ranges(const PixelView& image);
ChannelHistograms channel_histograms(const PixelView& image);

/// The same in plain C++: what the vector code is tested against.
std::int64_t luma_sum_scalar(const PixelView& image);
ChannelRanges channel_ranges_scalar(const PixelView& image);

}  // namespace paceline::data
