#include "paceline/data/transforms/kernels/gaussian_blur.h"

#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(GaussianBlur, ASinglePixelLeavesTheImageAndAFlatOneStays) {
  GaussianBlur blur;
  const NoiseImage noise({7, 9}, 3);
  std::vector<std::uint8_t> bytes(7 * 64 + PixelBuffer::kPadding);
  blur.prepare({1, 1}, 0.7);
  blur.blur(noise.view, bytes.data(), 64);
  for (int y = 0; y < 7; ++y)
    EXPECT_TRUE(std::equal(noise.view.row(y), noise.view.row(y) + 27, bytes.data() + 64 * y)) << y;
  const PaddedImage flat(std::vector<std::uint8_t>(3 * 7 * 9, 201), {7, 9});
  blur.prepare({9, 5}, 1.3);
  blur.blur(flat.view, bytes.data(), 64);
  for (int y = 0; y < 7; ++y)
    EXPECT_EQ(std::count(bytes.data() + 64 * y, bytes.data() + 64 * y + 27, 201), 27) << y;
}

TEST(GaussianBlur, MirrorsWithoutRepeatingTheEdge) {
  EXPECT_EQ(mirrored_index(-2, 5), 2);
  EXPECT_EQ(mirrored_index(3, 5), 3);
  EXPECT_EQ(mirrored_index(5, 5), 3);
}

}  // namespace
}  // namespace paceline::data
