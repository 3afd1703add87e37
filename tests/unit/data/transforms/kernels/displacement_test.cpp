#include "paceline/data/transforms/kernels/displacement.h"

#include "support/data/test_images.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(Displacement, IsSmoothNoiseOfItsSeed) {
  Displacement displacement;
  displacement.draw({120, 150}, {50, 20}, {3, 2}, 7);
  const float kept = displacement.drawn().columns.row(60)[70];
  double squares = 0;
  double steps = 0;
  for (int y = 20; y < 100; ++y) {
    for (int x = 20; x < 130; ++x) {
      const float* const row = displacement.drawn().columns.row(y);
      squares += row[x] * row[x];
      steps += (row[x + 1] - row[x]) * (row[x + 1] - row[x]);
    }
  }
  // Uniform noise has the variance 1 / 3, blurred by s and t 1 / (12 pi s t), times (alpha / 2)^2.
  EXPECT_NEAR(squares / (80 * 110), 625.0 / (12 * 3.14159 * 3 * 2), 1.0);
  // Of neighbours at distance 1 the correlation is exp(-1 / (4 s^2)).
  EXPECT_NEAR(steps / squares, 2 * (1 - std::exp(-1.0 / 36)), 0.01);
  displacement.draw({120, 150}, {50, 20}, {3, 2}, 8);
  EXPECT_NE(displacement.drawn().columns.row(60)[70], kept);
  displacement.draw({120, 150}, {50, 20}, {3, 2}, 7);
  EXPECT_EQ(displacement.drawn().columns.row(60)[70], kept);
}

TEST(Displacement, BlursOverAnOddNumberOfPixels) {
  EXPECT_EQ(displacement_kernel(5), 41);
  EXPECT_EQ(displacement_kernel(0.4), 5);
  EXPECT_EQ(displacement_kernel(0.1), 1);
}

}  // namespace
}  // namespace paceline::data
