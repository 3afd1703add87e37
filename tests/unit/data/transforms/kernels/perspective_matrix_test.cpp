#include "paceline/data/transforms/kernels/perspective_matrix.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(PerspectiveMatrix, BringsTheCornersToTheirEnds) {
  const Corners ends = {{{3, 4}, {70, 1}, {75, 50}, {10, 55}}};
  const auto m = perspective_matrix({60, 80}, ends);
  ASSERT_TRUE(m.has_value());
  const Corners from = {{{0, 0}, {79, 0}, {79, 59}, {0, 59}}};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto [x, y] = ends[i];
    const double depth = (*m)[6] * x + (*m)[7] * y + 1;
    EXPECT_NEAR(((*m)[0] * x + (*m)[1] * y + (*m)[2]) / depth, from[i][0], 1e-3);
    EXPECT_NEAR(((*m)[3] * x + (*m)[4] * y + (*m)[5]) / depth, from[i][1], 1e-3);
  }
}

TEST(PerspectiveMatrix, ThereIsNoneOfCornersOnALine) {
  EXPECT_EQ(perspective_matrix({60, 80}, {{{0, 0}, {40, 0}, {79, 0}, {0, 59}}}), std::nullopt);
  EXPECT_EQ(perspective_matrix({1, 1}, {}), std::nullopt);
}

}  // namespace
}  // namespace paceline::data
