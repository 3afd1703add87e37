#include "paceline/data/transforms/composer_augment.h"

#include "support/data/composer_names.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(ComposerAugmentGolden, ArgumentsOfDrawsAreComposers) {
  std::ifstream table(std::string(PACELINE_GOLDEN_DIR) + "/transforms/composer_arguments.txt");
  std::string name;
  double severity = 0;
  std::array<double, 2> uniforms = {};
  ImageSize image;
  double expected = 0;
  int count = 0;
  while (table >> name >> severity >> uniforms[0] >> uniforms[1] >> image.height >> image.width >>
         expected) {
    const auto op = composer_named(name);
    ASSERT_TRUE(op.has_value()) << name;
    EXPECT_EQ(composer_argument(*op, severity, uniforms, image), expected)
        << name << " " << severity << " " << uniforms[0] << " " << uniforms[1];
    ++count;
  }
  EXPECT_EQ(count, 15 * 5 * 5 * 2);
}

}  // namespace
}  // namespace paceline::data
