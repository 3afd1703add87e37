#include "paceline/data/transforms/kernels/image_statistics.h"

#include <algorithm>

namespace paceline::data {

std::int64_t luma_sum_scalar(const PixelView& image) {
  std::int64_t sum = 0;
  for (int y = 0; y < image.size.height; ++y) {
    const std::uint8_t* pixel = image.row(y);
    for (int x = 0; x < image.size.width; ++x, pixel += 3) {
      sum += luma(pixel[0], pixel[1], pixel[2]);
    }
  }
  return sum;
}

int mean_luma(const PixelView& image) {
  const double count = static_cast<double>(image.size.height) * image.size.width;
  return static_cast<int>(static_cast<double>(luma_sum(image)) / count + 0.5);
}

ChannelRanges channel_ranges_scalar(const PixelView& image) {
  ChannelRanges ranges;
  for (int y = 0; y < image.size.height; ++y) {
    const std::uint8_t* pixel = image.row(y);
    for (int x = 0; x < image.size.width; ++x, pixel += 3) {
      for (std::size_t channel = 0; channel < 3; ++channel) {
        ChannelRange& range = ranges[channel];
        range.lowest = std::min<int>(range.lowest, pixel[channel]);
        range.highest = std::max<int>(range.highest, pixel[channel]);
      }
    }
  }
  return ranges;
}

ChannelHistograms channel_histograms(const PixelView& image) {
  // Two sets in turn: a count that was just written would have to be waited for.
  ChannelHistograms sets[2] = {};
  const auto count = [](ChannelHistograms& set, const std::uint8_t* pixel) {
    for (std::size_t channel = 0; channel < 3; ++channel) ++set[channel][pixel[channel]];
  };
  for (int y = 0; y < image.size.height; ++y) {
    const std::uint8_t* pixel = image.row(y);
    int x = 0;
    for (; x + 1 < image.size.width; x += 2, pixel += 6) {
      count(sets[0], pixel);
      count(sets[1], pixel + 3);
    }
    if (x < image.size.width) count(sets[0], pixel);
  }
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t byte = 0; byte < 256; ++byte) sets[0][channel][byte] += sets[1][channel][byte];
  }
  return sets[0];
}

}  // namespace paceline::data
