#include "paceline/models/vit/position_embedding.h"

#include <array>

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

using PositionSizes = std::array<std::int64_t, 3>;

at::Tensor positions(std::int64_t count) {
  return at::linspace(-1, 1, 2 * count).mul(7).sin().view({1, count, 2});
}

TEST(PositionEmbedding, KeepsThePrefixAndPutsRowsInOrder) {
  // A plane stays one, but for the margins, where nothing lies beyond.
  const at::Tensor rows = at::arange(8.0).view({8, 1, 1}).expand({8, 8, 1});
  const at::Tensor columns = at::arange(8.0).view({1, 8, 1}).expand({8, 8, 1});
  const at::Tensor prefix = at::full({1, 2, 2}, 9.0);
  const at::Tensor stored =
      at::cat({prefix, at::cat({rows, columns}, 2).view({1, 64, 2})}, 1).to(at::kDouble);
  const at::Tensor made = resample_positions(stored, 2, {8, 8}, {16, 4});
  EXPECT_TRUE(at::equal(made.slice(1, 0, 2), prefix.to(at::kDouble)));
  const at::Tensor grid = made.slice(1, 2).view({16, 4, 2});
  EXPECT_NEAR(grid[8][1][0].item<double>(), 3.75, 1e-9);
  EXPECT_NEAR(grid[9][1][0].item<double>(), 4.25, 1e-9);
  EXPECT_NEAR(grid[8][1][1].item<double>(), 2.5, 0.05);
  EXPECT_NEAR(grid[8][2][1].item<double>(), 4.5, 0.05);
}

TEST(PositionEmbedding, IsAsItWasForTheSameGrid) {
  const at::Tensor stored = positions(17);
  EXPECT_TRUE(resample_positions(stored, 1, {4, 4}, {4, 4}).is_same(stored));
}

TEST(PositionEmbedding, HalfPrecisionStaysSo) {
  const at::Tensor stored = positions(16);
  const at::Tensor made = resample_positions(stored.to(at::kBFloat16), 0, {4, 4}, {6, 6});
  EXPECT_EQ(made.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(
      at::allclose(made.to(at::kFloat), resample_positions(stored, 0, {4, 4}, {6, 6}), 0.05, 0.02));
}

TEST(PositionEmbedding, StoredWithoutAClassTokensPositionItHasNone) {
  const PositionShape wanted{1, {6, 6}, 2};
  const auto adaptation = adapt_positions(PositionSizes{1, 16, 2}, wanted);
  ASSERT_TRUE(adaptation);
  EXPECT_EQ(adaptation->note, "resampled from 4x4 to 6x6 patches, and zeros before them");
  const at::Tensor stored = positions(16);
  const at::Tensor made = adaptation->apply(stored);
  EXPECT_TRUE(at::equal(made.slice(1, 0, 1), at::zeros({1, 1, 2})));
  EXPECT_TRUE(at::equal(made.slice(1, 1), resample_positions(stored, 0, {4, 4}, {6, 6})));
}

TEST(PositionEmbedding, AGridThatIsNoSquareHasTheProportionsOfTheWantedOne) {
  const auto adaptation = adapt_positions(PositionSizes{1, 7, 2}, {1, {4, 6}, 2});
  ASSERT_TRUE(adaptation);
  EXPECT_EQ(adaptation->note, "resampled from 2x3 to 4x6 patches");
}

TEST(PositionEmbedding, WhatFitsNoGridIsRefused) {
  const PositionShape wanted{1, {4, 4}, 2};
  EXPECT_FALSE(adapt_positions(PositionSizes{1, 11, 2}, wanted));  // 10 and 11 are no squares
  EXPECT_FALSE(adapt_positions(PositionSizes{1, 10, 3}, wanted));
  EXPECT_FALSE(adapt_positions(PositionSizes{2, 10, 2}, wanted));
  EXPECT_FALSE(adapt_positions(PositionSizes{1, 1, 2}, {1, {4, 6}, 2}));
  EXPECT_FALSE(adapt_positions(std::array<std::int64_t, 2>{10, 2}, wanted));
}

TEST(PatchEmbedding, GivesTheSameTokensForImagesResizedAlike) {
  const std::array<std::int64_t, 4> stored{3, 2, 4, 4};
  const std::array<std::int64_t, 4> wanted{3, 2, 8, 8};
  const auto adaptation = adapt_patch_weight(stored, wanted);
  ASSERT_TRUE(adaptation);
  EXPECT_EQ(adaptation->note, "resampled from 4x4 to 8x8 pixels");
  const at::Tensor weight = at::linspace(-1, 1, 96, at::kDouble).mul(9).sin().view(stored);
  const at::Tensor patch = at::linspace(-1, 1, 32, at::kDouble).mul(5).cos().view({1, 2, 4, 4});
  const at::Tensor larger = at::_upsample_bicubic2d_aa(patch, {8, 8}, /*align_corners=*/false);
  EXPECT_TRUE(at::allclose(at::conv2d(larger, adaptation->apply(weight)), at::conv2d(patch, weight),
                           1e-10, 1e-10));
}

TEST(PatchEmbedding, OtherWidthsAndChannelsAreRefused) {
  const std::array<std::int64_t, 4> wanted{3, 2, 8, 8};
  EXPECT_FALSE(adapt_patch_weight(std::array<std::int64_t, 4>{4, 2, 4, 4}, wanted));
  EXPECT_FALSE(adapt_patch_weight(std::array<std::int64_t, 4>{3, 1, 4, 4}, wanted));
  EXPECT_FALSE(adapt_patch_weight(std::array<std::int64_t, 2>{3, 32}, wanted));
}

}  // namespace
}  // namespace paceline::models
