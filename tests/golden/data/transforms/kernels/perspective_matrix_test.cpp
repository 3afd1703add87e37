#include "paceline/data/transforms/kernels/perspective_matrix.h"

#include <cmath>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(PerspectiveMatrixGolden, HasTorchvisionsCoefficients) {
  std::ifstream table(std::string(PACELINE_GOLDEN_DIR) + "/transforms/perspectives.tsv");
  ImageSize size;
  int count = 0;
  for (; table >> size.width >> size.height; ++count) {
    Corners ends;
    for (auto& [x, y] : ends) table >> x >> y;
    const auto matrix = perspective_matrix(size, ends);
    ASSERT_TRUE(matrix.has_value());
    for (const double coefficient : *matrix) {
      double expected = 0;
      table >> expected;
      // Both are rounded to float32 from sums in another order.
      EXPECT_NEAR(coefficient, expected, 1.3e-7 * std::abs(expected) + 1e-12) << count;
    }
  }
  EXPECT_EQ(count, 20);
}

}  // namespace
}  // namespace paceline::data
