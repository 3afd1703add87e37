#include "paceline/data/transforms/augment.h"

#include "support/data/augment_names.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

AugmentSpace space_named(const std::string& name) {
  if (name == "wide") return wide_space(31);
  return standard_space(name == "coarse" ? 10 : 31, {224, 197});
}

TEST(AugmentGolden, MagnitudesAreTorchvisions) {
  std::ifstream table(std::string(PACELINE_GOLDEN_DIR) + "/transforms/magnitudes.txt");
  std::string space;
  std::string name;
  bool is_signed = false;
  int count = 0;
  int lines = 0;
  for (; table >> space >> name >> is_signed >> count; ++lines) {
    const AugmentOp op = augment_named(name);
    EXPECT_EQ(has_sign(op), is_signed) << name;
    EXPECT_EQ(has_magnitude(op), count > 0) << name;
    for (int level = 0; level < std::max(count, 1); ++level) {
      double expected = 0;
      table >> expected;
      // torch's vector code rounds a few numbers differently.
      EXPECT_NEAR(magnitude_of(op, level, space_named(space)), expected, 2e-7 * expected)
          << space << " " << name << " " << level;
    }
  }
  EXPECT_EQ(lines, 42);
}

}  // namespace
}  // namespace paceline::data
