#include "paceline/data/transforms/kernels/color.h"
#include "support/data/instruction_sets.h"
#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

constexpr ImageSize kColorsOfRed = {256, 256};

/// Every colour of this red.
PaddedImage colors_of_red(int red) {
  std::vector<std::uint8_t> pixels;
  pixels.reserve(std::size_t{3} << 16);
  for (int color = 0; color < 1 << 16; ++color) {
    pixels.insert(pixels.end(), {static_cast<std::uint8_t>(red), static_cast<std::uint8_t>(color),
                                 static_cast<std::uint8_t>(color >> 8)});
  }
  return PaddedImage(pixels, kColorsOfRed);
}

void expect_equal_hues(const PixelView& image, double turn) {
  const auto fast = [&](const PixelView& source, std::uint8_t* target, auto stride) {
    adjust_hue(source, turn, target, stride);
  };
  const auto plain = [&](const PixelView& source, std::uint8_t* target, auto stride) {
    adjust_hue_scalar(source, turn, target, stride);
  };
  ASSERT_EQ(result_of(image, fast), result_of(image, plain)) << "turn " << turn;
}

void expect_equal_saturations(const PixelView& image, float factor) {
  const auto fast = [&](const PixelView& source, std::uint8_t* target, auto stride) {
    adjust_saturation(source, factor, target, stride);
  };
  const auto plain = [&](const PixelView& source, std::uint8_t* target, auto stride) {
    adjust_saturation_scalar(source, factor, target, stride);
  };
  ASSERT_EQ(result_of(image, fast), result_of(image, plain)) << "factor " << factor;
}

class ColorSimd : public testing::TestWithParam<std::int64_t> {
 protected:
  ChosenInstructionSet chosen_{GetParam()};
};

// All 2^24 colours would take seconds: each turn sees some of the reds.
TEST_P(ColorSimd, TurnsTheHueOfColorsAsThePlainCode) {
  for (int red = 0; red < 256; red += red < 8 || red > 248 ? 1 : 5) {
    SCOPED_TRACE(red);
    expect_equal_hues(colors_of_red(red).view, (red * 37 % 256 - 128) / 256.0);
  }
}

TEST_P(ColorSimd, TurnsByEveryAngleAsThePlainCode) {
  const NoiseImage noise({40, 83}, 12);
  for (int step = -128; step <= 128; ++step) expect_equal_hues(noise.view, step / 256.0);
}

TEST_P(ColorSimd, SaturatesAsThePlainCode) {
  for (const float factor : {0.0f, 0.1f, 0.73f, 1.0f, 1.27f, 1.9f, 40.0f, 1e12f, -3.0f}) {
    for (const int red : {0, 1, 77, 128, 254, 255}) {
      SCOPED_TRACE(red);
      expect_equal_saturations(colors_of_red(red).view, factor);
    }
  }
}

TEST_P(ColorSimd, TakesAnyWidth) {
  for (int width = 1; width < 140; width += 1 + width / 20) {
    SCOPED_TRACE(width);
    const NoiseImage noise({3, width + 2}, static_cast<unsigned>(width));
    const PixelView inner = noise.view.part({0, 1, 3, width});
    expect_equal_hues(inner, 0.3);
    expect_equal_saturations(inner, 0.4f);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ColorSimd, testing::ValuesIn(instruction_sets()),
                         instruction_set_name);

}  // namespace
}  // namespace paceline::data
