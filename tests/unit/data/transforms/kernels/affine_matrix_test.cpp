#include "paceline/data/transforms/kernels/affine_matrix.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(AffineMatrices, KeepTheirCentre) {
  const AffineMatrix m =
      affine_matrix({.angle = 30, .scale = 2, .shear = {10, 20}, .center = {5, 7}});
  EXPECT_NEAR(m[0] * 5 + m[1] * 7 + m[2], 5, 1e-12);
  EXPECT_NEAR(m[3] * 5 + m[4] * 7 + m[5], 7, 1e-12);
  // The result's area is 4 times as large, so the way back shrinks.
  EXPECT_NEAR(m[0] * m[4] - m[1] * m[3], 0.25, 1e-12);
}

TEST(AffineMatrices, RotateByPillowsRoundedSines) {
  // Without rounding to 15 digits the cosine of 90 degrees would be 6e-17.
  EXPECT_EQ(rotation_matrix(90, {4, 6}), (AffineMatrix{0, -1, 5, 1, 0, -1}));
  EXPECT_EQ(rotation_matrix(-630, {4, 6}), rotation_matrix(90, {4, 6}));
  EXPECT_EQ(rotation_matrix(360, {4, 6}), (AffineMatrix{1, 0, 0, 0, 1, 0}));
}

}  // namespace
}  // namespace paceline::data
