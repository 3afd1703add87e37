#include "paceline/data/transforms/warp.h"
#include "support/data/instruction_sets.h"
#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

class WarpSimd : public testing::TestWithParam<std::int64_t> {
 protected:
  ChosenInstructionSet chosen_{GetParam()};
};

TEST_P(WarpSimd, MixesAsThePlainCode) {
  std::mt19937 random(4);
  const auto between = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random()) / 4294967296.0;
  };
  for (int i = 0; i < 400; ++i) {
    const int height = 1 + i % 37;
    const int width = 1 + i % 53;
    const NoiseImage noise({height + 2, width + 3}, static_cast<unsigned>(i));
    // Without neighbours a sanitizer sees what is read outside.
    const Box inner = {1, 1, height, width};
    const PixelView image = noise.view.part(i % 2 == 0 ? inner : whole(noise.view.size));
    PerspectiveMatrix matrix =
        to_perspective(affine_matrix({.angle = between(-180, 180),
                                      .translate = {between(-9, 9), between(-9, 9)},
                                      .scale = i % 50 == 0 ? 1e-9 : between(0.4, 3),
                                      .shear = {between(-40, 40), between(-40, 40)},
                                      .center = {width * 0.5, height * 0.5}}));
    if (i % 3 == 0) matrix[6] = between(-0.02, 0.02), matrix[7] = between(-0.02, 0.02);
    const auto interpolation = static_cast<AffineInterpolation>(i % 7 % 3);
    const FillColor fill = {9, 250, 77};
    const auto fast = [&](const PixelView& source, std::uint8_t* target, auto stride) {
      warp(source, matrix, interpolation, fill, source.size, target, stride);
    };
    const auto plain = [&](const PixelView& source, std::uint8_t* target, auto stride) {
      warp_scalar(source, matrix, interpolation, fill, source.size, target, stride);
    };
    ASSERT_EQ(result_of(image, fast), result_of(image, plain))
        << image.size.width << " x " << image.size.height;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, WarpSimd, testing::ValuesIn(instruction_sets()),
                         instruction_set_name);

}  // namespace
}  // namespace paceline::data
