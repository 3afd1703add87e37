#include "paceline/data/transforms/kernels/image_statistics.h"

#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(ImageStatistics, MeanOfTheLumaIsRounded) {
  // Two pixels of luma 0 and 101: the mean 50.5 is rounded to 51.
  EXPECT_EQ(mean_luma(PaddedImage({0, 0, 0, 101, 101, 101}, {1, 2}).view), 51);
}

TEST(ImageStatistics, LumaWeighsTheChannels) {
  // 0.299 * 255 = 76.2, 0.587 * 255 = 149.7, 0.114 * 255 = 29.1
  EXPECT_EQ(luma(255, 0, 0), 76);
  EXPECT_EQ(luma(0, 255, 0), 150);
  EXPECT_EQ(luma(0, 0, 255), 29);
}

TEST(ImageStatistics, CountEveryPixelOfTheirColumns) {
  for (const int width : {1, 2, 17, 64, 101}) {
    const NoiseImage noise({9, width + 3}, 3);
    const PixelView image = noise.view.part({0, 1, 9, width});
    ChannelHistograms expected = {};
    std::int64_t sum = 0;
    const std::vector<std::uint8_t> bytes = packed(image);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
      for (std::size_t channel = 0; channel < 3; ++channel) {
        ++expected[channel][bytes[i + channel]];
      }
      sum += luma(bytes[i], bytes[i + 1], bytes[i + 2]);
    }
    EXPECT_EQ(channel_histograms(image), expected);
    EXPECT_EQ(luma_sum(image), sum);
  }
}

TEST(ImageStatistics, RangesArePerChannel) {
  const PaddedImage image({5, 100, 7, 9, 90, 7, 200, 110, 7}, {1, 3});
  const ChannelRanges ranges = channel_ranges(image.view);
  EXPECT_EQ(ranges[0].lowest, 5);
  EXPECT_EQ(ranges[0].highest, 200);
  EXPECT_EQ(ranges[1].lowest, 90);
  EXPECT_EQ(ranges[1].highest, 110);
  EXPECT_EQ(ranges[2].lowest, 7);
  EXPECT_EQ(ranges[2].highest, 7);
}

}  // namespace
}  // namespace paceline::data
