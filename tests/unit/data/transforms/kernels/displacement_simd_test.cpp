#include "paceline/data/transforms/kernels/displacement.h"
#include "support/data/instruction_sets.h"
#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

class DisplacementSimd : public testing::TestWithParam<std::int64_t> {
 protected:
  ChosenInstructionSet chosen_{GetParam()};
};

TEST_P(DisplacementSimd, EqualsThePlainCode) {
  for (int width = 5; width < 60; width += 3) {
    const ImageSize size = {4 + width % 9, width};
    const NoiseImage noise({size.height, width + 2}, static_cast<unsigned>(width));
    const PixelView inner = noise.view.part({0, 1, size.height, width});
    Displacement displacement;
    displacement.draw(size, {60, 30}, {0.4, 0.4}, static_cast<std::uint64_t>(width));
    const std::array<std::uint8_t, 3> fill = {9, 250, 77};
    for (const bool is_linear : {false, true}) {
      const auto fast = [&](const PixelView& source, std::uint8_t* target, auto stride) {
        displace(source, displacement.drawn(), is_linear, fill, target, stride);
      };
      const auto plain = [&](const PixelView& source, std::uint8_t* target, auto stride) {
        displace_scalar(source, displacement.drawn(), is_linear, fill, target, stride);
      };
      ASSERT_EQ(result_of(inner, fast), result_of(inner, plain)) << width << " " << is_linear;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DisplacementSimd, testing::ValuesIn(instruction_sets()),
                         instruction_set_name);

}  // namespace
}  // namespace paceline::data
