#include "paceline/data/transforms/affine.h"
#include "support/data/instruction_sets.h"
#include "support/data/test_images.h"

#include <cstring>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

class AffineSimd : public testing::TestWithParam<std::int64_t> {
 protected:
  ChosenInstructionSet chosen_{GetParam()};
};

TEST_P(AffineSimd, CopiesWhatTheWalkMeets) {
  const NoiseImage noise({200, 300}, 3);
  const PixelView image = noise.view.part({1, 2, 190, 280});
  for (const auto& [step_x, step_y] : {std::pair{65536, 0},
                                       {65536, 3000},
                                       {60000, -20000},
                                       {-65536, 0},
                                       {-40000, -40000},
                                       {100, 90000},
                                       {0, 0}}) {
    for (int count = 0; count < 100; ++count) {
      const FixedWalk walk = {(step_x < 0 ? 270 : 3) << 16, (step_y < 0 ? 170 : 5) << 16, step_x,
                              step_y};
      std::vector<std::uint8_t> fast(3 * 100 + 1, 0);
      std::vector<std::uint8_t> plain = fast;
      copy_walk(image, walk, count, fast.data());
      for (int i = 0; i < count; ++i) {
        const int column = static_cast<int>((walk.x + i * walk.step_x) >> 16);
        const int row = static_cast<int>((walk.y + i * walk.step_y) >> 16);
        std::memcpy(plain.data() + 3 * i, image.row(row) + 3 * column, 3);
      }
      // One byte behind may be anything.
      fast[static_cast<std::size_t>(3 * count)] = 0;
      ASSERT_EQ(fast, plain) << count << " pixels, steps " << step_x << ", " << step_y;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, AffineSimd, testing::ValuesIn(instruction_sets()),
                         instruction_set_name);

}  // namespace
}  // namespace paceline::data
