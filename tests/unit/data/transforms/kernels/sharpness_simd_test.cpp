#include "paceline/data/transforms/kernels/sharpness.h"
#include "support/data/instruction_sets.h"
#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

class SharpnessSimd : public testing::TestWithParam<std::int64_t> {
 protected:
  ChosenInstructionSet chosen_{GetParam()};
};

TEST_P(SharpnessSimd, EqualsThePlainCode) {
  int width = 1;
  for (const float factor : {0.0f, 0.1f, 0.73f, 1.0f, 1.27f, 1.9f, 40.0f, 1e12f, -3.0f}) {
    for (int repetition = 0; repetition < 20; ++repetition, width = width % 130 + 3) {
      const NoiseImage noise({1 + width % 9, width + 2}, static_cast<unsigned>(width));
      const PixelView inner = noise.view.part({0, 1, 1 + width % 9, width});
      const auto fast = [&](const PixelView& source, std::uint8_t* target, auto stride) {
        sharpen(source, factor, target, stride);
      };
      const auto plain = [&](const PixelView& source, std::uint8_t* target, auto stride) {
        sharpen_scalar(source, factor, target, stride);
      };
      ASSERT_EQ(result_of(inner, fast), result_of(inner, plain))
          << "factor " << factor << ", " << width << " columns";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, SharpnessSimd, testing::ValuesIn(instruction_sets()),
                         instruction_set_name);

}  // namespace
}  // namespace paceline::data
