#include "paceline/data/transforms/timm_augment.h"

#include "support/data/timm_names.h"

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(TimmAugmentGolden, ArgumentsOfLevelsAreTimms) {
  std::ifstream table(std::string(PACELINE_GOLDEN_DIR) + "/transforms/levels.txt");
  int count = 0;
  for (std::string line; std::getline(table, line); ++count) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    const auto op = timm_named(name);
    ASSERT_TRUE(op.has_value()) << name;
    for (int i = 0; i < 22; ++i) {
      double expected = 0;
      words >> expected;
      EXPECT_EQ(timm_argument(*op, i < 21 ? i / 2.0 : 12.0, false), expected) << name << " " << i;
    }
  }
  EXPECT_EQ(count, 20);
}

}  // namespace
}  // namespace paceline::data
