#include "paceline/data/transforms/kernels/image_statistics.h"
#include "support/data/instruction_sets.h"
#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

class ImageStatisticsSimd : public testing::TestWithParam<std::int64_t> {
 protected:
  ChosenInstructionSet chosen_{GetParam()};
};

TEST_P(ImageStatisticsSimd, EqualThePlainCodeForAnyWidth) {
  for (int width = 1; width < 300; width += 1 + width / 30) {
    NoiseImage noise({4, width + 1}, static_cast<unsigned>(width));
    // Not every image reaches 0 and 255.
    for (std::uint8_t* byte = noise.buffer.data(); byte != noise.buffer.data() + 12 * (width + 1);
         ++byte) {
      *byte = static_cast<std::uint8_t>(30 + *byte % static_cast<unsigned>(width));
    }
    const PixelView inner = noise.view.part({0, 1, 4, width});
    EXPECT_EQ(luma_sum(inner), luma_sum_scalar(inner)) << width;
    const ChannelRanges fast = channel_ranges(inner);
    const ChannelRanges plain = channel_ranges_scalar(inner);
    for (std::size_t channel = 0; channel < 3; ++channel) {
      EXPECT_EQ(fast[channel].lowest, plain[channel].lowest) << width;
      EXPECT_EQ(fast[channel].highest, plain[channel].highest) << width;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ImageStatisticsSimd, testing::ValuesIn(instruction_sets()),
                         instruction_set_name);

}  // namespace
}  // namespace paceline::data
