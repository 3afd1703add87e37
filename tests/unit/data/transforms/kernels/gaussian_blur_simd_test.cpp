#include "paceline/data/transforms/kernels/gaussian_blur.h"
#include "support/data/instruction_sets.h"
#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

class GaussianBlurSimd : public testing::TestWithParam<std::int64_t> {
 protected:
  ChosenInstructionSet chosen_{GetParam()};
};

TEST_P(GaussianBlurSimd, EqualsThePlainCode) {
  GaussianBlur blur;
  for (const ImageSize kernel : {ImageSize{1, 1}, {3, 3}, {1, 9}, {9, 1}, {5, 7}, {23, 15}}) {
    for (const ImageSize size : {ImageSize{13, 12}, {12, 83}, {40, 16}, {30, 130}}) {
      if (kernel.height / 2 >= size.height || kernel.width / 2 >= size.width) continue;
      const NoiseImage noise({size.height, size.width + 2}, 7);
      const PixelView inner = noise.view.part({0, 1, size.height, size.width});
      blur.prepare(kernel, 0.15 * kernel.height + 0.4);
      const auto fast = [&](const PixelView& source, std::uint8_t* target, auto stride) {
        blur.blur(source, target, stride);
      };
      const auto plain = [&](const PixelView& source, std::uint8_t* target, auto stride) {
        blur.blur_scalar(source, target, stride);
      };
      ASSERT_EQ(result_of(inner, fast), result_of(inner, plain))
          << kernel.height << " x " << kernel.width << " of " << size.height << " x " << size.width;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, GaussianBlurSimd, testing::ValuesIn(instruction_sets()),
                         instruction_set_name);

}  // namespace
}  // namespace paceline::data
