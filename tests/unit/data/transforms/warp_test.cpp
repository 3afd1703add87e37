#include "paceline/data/transforms/warp.h"

#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(Warp, MovesWholePixelsIntoALargerImage) {
  const NoiseImage noise({7, 9}, 5);
  const FillColor fill = {1, 2, 3};
  for (const auto interpolation : {AffineInterpolation::kNearest, AffineInterpolation::kBilinear,
                                   AffineInterpolation::kBicubic}) {
    std::vector<std::uint8_t> bytes(11 * 64 + PixelBuffer::kPadding);
    warp(noise.view, {1, 0, -2, 0, 1, -3, 0, 0}, interpolation, fill, {11, 14}, bytes.data(), 64);
    for (int y = 0; y < 11; ++y) {
      for (int x = 0; x < 14; ++x) {
        const bool is_inside = y >= 3 && y < 10 && x >= 2 && x < 11;
        const std::uint8_t* const expected =
            is_inside ? noise.view.row(y - 3) + 3 * (x - 2) : fill.data();
        EXPECT_TRUE(std::equal(expected, expected + 3, bytes.data() + 64 * y + 3 * x));
      }
    }
  }
}

TEST(Warp, DividesByTheDepth) {
  const NoiseImage noise({8, 8}, 6);
  // Everything twice as far away.
  std::vector<std::uint8_t> bytes(8 * 64 + PixelBuffer::kPadding);
  PerspectiveMatrix half = {0.25, 0, 0, 0, 0.25, 0, 0, 0};
  warp(noise.view, half, AffineInterpolation::kNearest, {}, {8, 8}, bytes.data(), 64);
  EXPECT_EQ(bytes[64 * 7 + 3 * 7], noise.view.row(1)[3]);
  half[6] = 1.0 / 7.5;
  warp(noise.view, half, AffineInterpolation::kNearest, {}, {8, 8}, bytes.data(), 64);
  EXPECT_EQ(bytes[64 * 7 + 3 * 7], noise.view.row(0)[0]);
}

}  // namespace
}  // namespace paceline::data
