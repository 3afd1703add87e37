#include "paceline/data/transforms/affine.h"

#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

constexpr FillColor kFill = {1, 2, 3};

std::vector<std::uint8_t> moved(const PixelView& image, const AffineMatrix& matrix,
                                AffineInterpolation interpolation) {
  return result_of(image, [&](const PixelView& source, std::uint8_t* target, auto stride) {
    transform_affine(source, matrix, interpolation, kFill, source.size, target, stride);
  });
}

class Affine : public testing::TestWithParam<AffineInterpolation> {};

TEST_P(Affine, TranslationMovesRightAndDown) {
  const NoiseImage noise({7, 9}, 5);
  const std::vector<std::uint8_t> result =
      moved(noise.view, affine_matrix({.translate = {2, 1}}), GetParam());
  for (int y = 0; y < 7; ++y) {
    for (int x = 0; x < 9; ++x) {
      for (int channel = 0; channel < 3; ++channel) {
        const auto at = static_cast<std::size_t>(3 * (9 * y + x) + channel);
        const bool is_inside = y >= 1 && x >= 2;
        EXPECT_EQ(result[at], is_inside ? noise.view.row(y - 1)[3 * (x - 2) + channel]
                                        : kFill[static_cast<std::size_t>(channel)]);
      }
    }
  }
}

TEST_P(Affine, QuarterTurnsOfASquareMoveWholePixels) {
  const NoiseImage noise({8, 8}, 6);
  const std::vector<std::uint8_t> once = moved(noise.view, rotation_matrix(90, {8, 8}), GetParam());
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 8; ++x) {
      // Counter-clockwise: what was on the right is on top.
      EXPECT_EQ(once[static_cast<std::size_t>(3 * (8 * y + x))], noise.view.row(x)[3 * (7 - y)]);
    }
  }
  EXPECT_EQ(moved(noise.view, rotation_matrix(-270, {8, 8}), GetParam()), once);
}

TEST_P(Affine, KeepsToItsColumns) {
  // What stands beside the image must not come in.
  const NoiseImage noise({12, 30}, 6);
  const PixelView inner = noise.view.part({2, 5, 8, 13});
  const PaddedImage alone(packed(inner), inner.size);
  for (const double angle : {0.0, 12.0, 100.0}) {
    const AffineMatrix matrix = rotation_matrix(angle, inner.size);
    EXPECT_EQ(moved(inner, matrix, GetParam()), moved(alone.view, matrix, GetParam()));
  }
}

INSTANTIATE_TEST_SUITE_P(Filters, Affine,
                         testing::Values(AffineInterpolation::kNearest,
                                         AffineInterpolation::kBilinear,
                                         AffineInterpolation::kBicubic));

}  // namespace
}  // namespace paceline::data
