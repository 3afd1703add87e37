#include "paceline/algorithms/microbatch/box.h"

#include "support/chi_square.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

constexpr nn::ImageSize kBoxedImage{8, 6};

base::Philox box_draws(std::uint64_t step) { return {3, base::DrawPurpose::kTest, step, 0}; }

TEST(Box, IsCutOffAtTheBorders) {
  EXPECT_EQ(box_around(4, 3, {4, 2}, kBoxedImage), (Box{2, 2, 6, 4}));
  EXPECT_EQ(box_around(0, 5, {4, 4}, kBoxedImage), (Box{0, 3, 2, 6}));
  EXPECT_EQ(box_around(4, 3, {3, 3}, kBoxedImage), (Box{3, 2, 5, 4})) << "a line less of odd sides";
  EXPECT_EQ(box_around(-3, 9, {4, 4}, kBoxedImage).area(), 0);
  EXPECT_EQ(box_around(4, 3, {1, 1}, kBoxedImage).area(), 0);
}

TEST(Box, EveryPlaceOfTheImageIsAsLikelyACentre) {
  std::vector<int> counts(100);
  for (std::uint64_t step = 0; step < 20'000; ++step) {
    base::Philox draws = box_draws(step);
    const Box box = draw_box({2, 2}, {10, 10}, /*uniform_sampling=*/false, draws);
    ++counts.at(static_cast<std::size_t>((box.bottom - 1) * 10 + box.right - 1));
  }
  EXPECT_LT(test::chi_square(counts), 149.4);  // 99 degrees of freedom, 0.1 %
}

TEST(Box, CoversEveryPixelAsOftenWhereThatIsAskedFor) {
  constexpr int kDraws = 20'000;
  for (const std::int64_t side : {3, 4}) {
    at::Tensor covered = at::zeros({1, 1, 6, 6}, at::kDouble);
    for (std::uint64_t step = 0; step < kDraws; ++step) {
      base::Philox draws = box_draws(step);
      inside(covered, draw_box({side, side}, {6, 6}, /*uniform_sampling=*/true, draws)) += 1;
    }
    const double box = std::pow(2 * (side / 2), 2);
    const double share = box / std::pow(6 + side, 2);
    const double deviation = std::sqrt(kDraws * share * (1 - share));
    EXPECT_LT((covered - kDraws * share).abs().max().item<double>(), 4.5 * deviation) << side;
  }
}

TEST(Box, PixelsNearBordersAreCoveredLessOftenElse) {
  at::Tensor covered = at::zeros({1, 1, 6, 6}, at::kDouble);
  for (std::uint64_t step = 0; step < 1'000; ++step) {
    base::Philox draws = box_draws(step);
    inside(covered, draw_box({4, 4}, {6, 6}, /*uniform_sampling=*/false, draws)) += 1;
  }
  EXPECT_GT(covered[0][0][3][3].item<double>(), 1.5 * covered[0][0][0][0].item<double>());
}

TEST(Box, IsAViewOfTheImages) {
  const at::Tensor images = at::zeros({2, 3, 8, 6});
  inside(images, {1, 2, 3, 5}).fill_(1);
  EXPECT_EQ(images.sum().item<double>(), 2 * 3 * 2 * 3);
  EXPECT_EQ(images[1][2][2][4].item<double>(), 1);
}

}  // namespace
}  // namespace paceline::algorithms
