#include "paceline/data/transforms/kernels/box_blur.h"

#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(BoxBlur, TheWeightsOfABoxAddUpToOne) {
  for (const float radius : {0.1f, 0.5f, 1.0f, 2.0f, 7.5f}) {
    const BoxWeights weights = box_weights(radius);
    const std::uint32_t whole = static_cast<std::uint32_t>(2 * weights.radius + 1) * weights.whole;
    EXPECT_NEAR(whole + 2 * weights.fraction, 1 << 24, 2) << radius;
    EXPECT_LE(weights.fraction, weights.whole) << radius;
  }
}

TEST(BoxBlur, AFlatImageStays) {
  const PaddedImage flat(std::vector<std::uint8_t>(3 * 7 * 9, 201), {7, 9});
  std::vector<std::uint8_t> bytes(7 * 64 + PixelBuffer::kPadding);
  BoxBlur blur;
  blur.blur(flat.view, 2.5f, bytes.data(), 64);
  for (int y = 0; y < 7; ++y)
    EXPECT_EQ(std::count(bytes.data() + 64 * y, bytes.data() + 64 * y + 27, 201), 27) << y;
}

}  // namespace
}  // namespace paceline::data
