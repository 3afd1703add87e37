#include "paceline/data/transforms/kernels/sharpness.h"

#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

std::vector<std::uint8_t> sharpened(const PixelView& image, float factor) {
  return result_of(image, [&](const PixelView& source, std::uint8_t* target, auto stride) {
    sharpen(source, factor, target, stride);
  });
}

TEST(Sharpness, ZeroIsTheRoundedMeanOfTheNeighbours) {
  // A single white pixel in the middle, 5 / 13 of 255 = 98.1; its neighbours do not change.
  std::vector<std::uint8_t> pixels(3 * 9, 0);
  for (std::size_t channel = 0; channel < 3; ++channel) pixels[12 + channel] = 255;
  const std::vector<std::uint8_t> smooth = sharpened(PaddedImage(pixels, {3, 3}).view, 0.0f);
  for (std::size_t i = 0; i < smooth.size(); ++i) EXPECT_EQ(smooth[i], i / 3 == 4 ? 98 : 0);
}

TEST(Sharpness, OneChangesNothing) {
  const NoiseImage noise({9, 11}, 2);
  EXPECT_EQ(sharpened(noise.view, 1.0f), packed(noise.view));
}

TEST(Sharpness, LeavesImagesWithoutInteriorAsTheyAre) {
  for (const ImageSize size :
       {ImageSize{1, 20}, ImageSize{20, 1}, ImageSize{2, 9}, ImageSize{9, 2}}) {
    const NoiseImage noise(size, 2);
    EXPECT_EQ(sharpened(noise.view, 0.2f), packed(noise.view));
  }
}

}  // namespace
}  // namespace paceline::data
