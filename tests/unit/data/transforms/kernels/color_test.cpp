#include "paceline/data/transforms/kernels/color.h"

#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes saturated(const Bytes& pixel, float factor) {
  const PaddedImage image(pixel, {1, 1});
  return result_of(image.view, [&](const PixelView& source, std::uint8_t* target, auto stride) {
    adjust_saturation(source, factor, target, stride);
  });
}

Bytes turned(const Bytes& pixel, double turn) {
  const PaddedImage image(pixel, {1, 1});
  return result_of(image.view, [&](const PixelView& source, std::uint8_t* target, auto stride) {
    adjust_hue(source, turn, target, stride);
  });
}

TEST(Color, SaturationZeroIsLuma) {
  // 0.299 * 255 + 0.587 * 0 + 0.114 * 0 = 76.2
  EXPECT_EQ(saturated({255, 0, 0}, 0.0f), (Bytes{76, 76, 76}));
}

TEST(Color, SaturationMovesAwayFromTheLuma) {
  // The luma is 117: 117 + 1.5 * (100 - 117) = 91.5, 117 + 1.5 * (130 - 117) = 136.5 and so on.
  EXPECT_EQ(saturated({100, 130, 95}, 1.5f), (Bytes{91, 136, 84}));
  EXPECT_EQ(saturated({100, 130, 95}, 1.0f), (Bytes{100, 130, 95}));
}

TEST(Color, HueTurnsPrimariesIntoNeighbours) {
  // A third of 255 is the whole number 85; back from 0 it leads to 171, a little past blue.
  EXPECT_EQ(turned({255, 0, 0}, 1.0 / 3), (Bytes{0, 255, 0}));
  EXPECT_EQ(turned({255, 0, 0}, -1.0 / 3), (Bytes{6, 0, 255}));
  EXPECT_EQ(turned({90, 90, 90}, 0.4), (Bytes{90, 90, 90}));
}

TEST(Color, TheShiftIsCutOffAndWrapsAround) {
  EXPECT_EQ(hue_shift(0.1), 25);
  EXPECT_EQ(hue_shift(-0.1), 256 - 25);
  EXPECT_EQ(hue_shift(0.003), 0);
}

}  // namespace
}  // namespace paceline::data
