#include "paceline/data/transforms/kernels/box_blur.h"
#include "support/data/instruction_sets.h"
#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

class BoxBlurSimd : public testing::TestWithParam<std::int64_t> {
 protected:
  ChosenInstructionSet chosen_{GetParam()};
};

TEST_P(BoxBlurSimd, EqualsThePlainCode) {
  const NoiseImage noise({9, 60}, 5);
  for (const float radius : {0.1f, 0.9f, 2.0f}) {
    const BoxWeights weights = box_weights(radius);
    std::vector<const std::uint8_t*> places;
    for (int i = 0; i < 2 * weights.radius + 3; ++i) places.push_back(noise.view.row(i));
    for (std::size_t count = 1; count < 170; ++count) {
      std::vector<std::uint8_t> fast(count + 16);
      std::vector<std::uint8_t> plain(count);
      box_means(places, weights, count, fast.data());
      box_means_scalar(places, weights, count, plain.data());
      fast.resize(count);
      ASSERT_EQ(fast, plain) << count << " bytes, radius " << radius;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, BoxBlurSimd, testing::ValuesIn(instruction_sets()),
                         instruction_set_name);

}  // namespace
}  // namespace paceline::data
