#include "paceline/algorithms/progressive_resizing/progressive_resizing.h"

#include "paceline/algorithms/colout/colout.h"
#include "paceline/algorithms/selective_backprop/selective_backprop.h"
#include "paceline/base/error.h"
#include "support/chi_square.h"
#include "unit/algorithms/image_step.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr nn::ImageSize kWholeImage{8, 6};

void expect_size(nn::ImageSize got, nn::ImageSize wanted) {
  EXPECT_EQ(got.height, wanted.height);
  EXPECT_EQ(got.width, wanted.width);
}

TEST(ResizedSize, IsRoundedDown) {
  expect_size(scaled_size({224, 224}, 160.0 / 224), {160, 160});
  expect_size(scaled_size({7, 9}, 0.5), {3, 4});
  // The product in double is below 115, as Composer's.
  expect_size(scaled_size({224, 224}, 115.0 / 224), {114, 114});
  expect_size(scaled_size({3, 100}, 0.1), {1, 10});
}

// Numbers of a Philox of its own, in Python.
TEST(ResizingDraws, StayWhatTheyAre) {
  EXPECT_EQ(draw_piece({0, 4, {3, 5, 16}}, {16, 16}, {112, 64}),
            (Box{.top = 55, .left = 42, .bottom = 71, .right = 58}));
}

TEST(ResizingDraws, LayThePieceAnywhereButLast) {
  std::vector<int> rows(4);
  std::vector<int> columns(3);
  for (std::int64_t step = 0; step < 4'000; ++step) {
    const Box piece = draw_piece({0, 1, {3, step, 0}}, {4, 3}, kWholeImage);
    EXPECT_EQ(piece.bottom - piece.top, 4);
    EXPECT_EQ(piece.right - piece.left, 3);
    ++rows.at(static_cast<std::size_t>(piece.top));
    ++columns.at(static_cast<std::size_t>(piece.left));
  }
  EXPECT_LT(test::chi_square(rows), 16.3);     // 3 degrees of freedom, 0.1 %
  EXPECT_LT(test::chi_square(columns), 13.8);  // 2
}

class ResizedImages : public ImageStep {
 protected:
  ResizedImages() { set_images(4, 8, 6); }

  /// 3 of 6 pixels until step 2, 4 until step 5, then all.
  static ProgressiveResizing growing(BatchResizing mode) {
    return {mode, {{0, 3, 6}, {2, 4, 6}, {5, 6, 6}}};
  }
  at::Tensor images_of_step(BatchResizing mode, std::int64_t step) {
    ProgressiveResizing resizing = growing(mode);
    state_.clock.step = step;
    return transformed_images(resizing);
  }
};

TEST_F(ResizedImages, GrowFromStepToStep) {
  for (const BatchResizing mode : {BatchResizing::kNearest, BatchResizing::kCrop}) {
    EXPECT_EQ(images_of_step(mode, 0).sizes(), at::IntArrayRef({4, 3, 4, 3}));
    EXPECT_EQ(images_of_step(mode, 1).sizes(), at::IntArrayRef({4, 3, 4, 3}));
    EXPECT_EQ(images_of_step(mode, 2).sizes(), at::IntArrayRef({4, 3, 5, 4}));
    EXPECT_EQ(images_of_step(mode, 4).sizes(), at::IntArrayRef({4, 3, 5, 4}));
    EXPECT_TRUE(images_of_step(mode, 5).is_same(images()));
    EXPECT_TRUE(images_of_step(mode, 90).is_same(images()));
  }
}

TEST_F(ResizedImages, AreTheNearestPixels) {
  const at::Tensor even = images().slice(2, 0, 8, 2).slice(3, 0, 6, 2);
  EXPECT_TRUE(images_of_step(BatchResizing::kNearest, 0).equal(even));
}

TEST_F(ResizedImages, AreOnePieceOfAllImages) {
  const Box piece = draw_piece({0, 4, {run_.seed, 1, 0}}, {4, 3}, kWholeImage);
  EXPECT_TRUE(images_of_step(BatchResizing::kCrop, 1).equal(inside(images(), piece)));
}

TEST_F(ResizedImages, LeaveLabelsAndTheLoadersMemoryAlone) {
  for (const BatchResizing mode : {BatchResizing::kNearest, BatchResizing::kCrop}) {
    ProgressiveResizing resizing = growing(mode);
    expect_labels_and_loaders_memory_left_alone(resizing);
  }
}

TEST_F(ResizedImages, KeepLayoutAndType) {
  for (const BatchResizing mode : {BatchResizing::kNearest, BatchResizing::kCrop}) {
    ProgressiveResizing resizing = growing(mode);
    expect_any_layout_and_type(resizing);
  }
}

TEST_F(ResizedImages, WaitForNoDevice) {
  ProgressiveResizing resizing = growing(BatchResizing::kCrop);
  expect_no_wait(resizing);
}

TEST_F(ResizedImages, ComeAfterSelectionAndBeforeColumnsAreDropped) {
  const int order = growing(BatchResizing::kCrop).traits().order;
  EXPECT_LT(SelectiveBackprop({}).traits().order, order);
  EXPECT_LT(order, Colout({}).traits().order);
  EXPECT_TRUE(growing(BatchResizing::kNearest).traits().may_come_or_go);
}

TEST_F(ResizedImages, NeedImages) {
  state_.batch.fields = {{"series", at::zeros({3, 2})}};
  ProgressiveResizing resizing = growing(BatchResizing::kNearest);
  EXPECT_THAT([&] { transformed(resizing); },
              ThrowsMessage<base::ConfigError>(HasSubstr("needs a data set of images")));
}

}  // namespace
}  // namespace paceline::algorithms
