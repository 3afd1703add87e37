#include "paceline/data/transforms/color.h"

#include "support/data/test_images.h"

#include <array>
#include <functional>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using Rgb = std::array<std::uint8_t, 3>;

Rgb changed(Rgb pixel, const std::function<void(const MutablePixels&)>& change) {
  change({pixel.data(), {1, 1}, 3});
  return pixel;
}

TEST(Color, SaturationZeroIsLuma) {
  // 0.299 * 255 + 0.587 * 0 + 0.114 * 0 = 76.2
  EXPECT_EQ(changed({255, 0, 0}, [](const auto& image) { adjust_saturation(image, 0.0f); }),
            (Rgb{76, 76, 76}));
}

TEST(Color, HueTurnsPrimariesIntoNeighbours) {
  // A third of 255 is the whole number 85; back from 0 it leads to 171, a little past blue.
  EXPECT_EQ(changed({255, 0, 0}, [](const auto& image) { adjust_hue(image, 1.0 / 3); }),
            (Rgb{0, 255, 0}));
  EXPECT_EQ(changed({255, 0, 0}, [](const auto& image) { adjust_hue(image, -1.0 / 3); }),
            (Rgb{6, 0, 255}));
  EXPECT_EQ(changed({90, 90, 90}, [](const auto& image) { adjust_hue(image, 0.4); }),
            (Rgb{90, 90, 90}));
}

TEST(Color, SaturationOneChangesNothing) {
  const NoiseImage noise({20, 30}, 4);
  std::vector<std::uint8_t> pixels = packed(noise.view);
  const MutablePixels image = {pixels.data(), {20, 30}, 90};
  adjust_saturation(image, 1.0f);
  EXPECT_EQ(pixels, packed(noise.view));
}

TEST(Color, KeepsToItsColumns) {
  std::vector<std::uint8_t> pixels(2 * 12, 100);
  const MutablePixels left_half = {pixels.data(), {2, 2}, 12};
  for (std::size_t i = 0; i < pixels.size(); i += 3) pixels[i] = 200;
  const std::vector<std::uint8_t> before = pixels;
  adjust_saturation(left_half, 0.5f);
  adjust_hue(left_half, 0.5);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    EXPECT_EQ(pixels[i] == before[i], i % 12 >= 6) << i;
  }
}

}  // namespace
}  // namespace paceline::data
