#include "paceline/algorithms/cutout/cutout.h"

#include "paceline/base/error.h"
#include "unit/algorithms/image_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr nn::ImageSize kCutoutImage{8, 6};

// Numbers of a Philox of its own, in Python.
TEST(CutoutDraws, StayWhatTheyAre) {
  const SampleGroup group{0, 4, {3, 5, 16}};
  EXPECT_THAT(draw_holes({.num_holes = 2}, group, kCutoutImage),
              ElementsAre(Box{3, 2, 5, 4}, Box{2, 1, 4, 3}));
  EXPECT_THAT(draw_holes({.num_holes = 2, .length = 0.7}, group, kCutoutImage),
              ElementsAre(Box{2, 1, 6, 5}, Box{1, 0, 5, 4}));
}

TEST(CutoutDraws, AreSquaresOfTheShorterSide) {
  EXPECT_EQ(hole_size(0.5, {8, 6}).height, 3);
  EXPECT_EQ(hole_size(0.5, {8, 6}).width, 3);
  EXPECT_EQ(hole_size(1, {7, 9}).width, 7);
  EXPECT_EQ(hole_size(0.1, {7, 9}).width, 0);
}

class CutoutTest : public ImageStep {
 protected:
  CutoutTest() { set_images(4, 8, 6); }
};

TEST_F(CutoutTest, SetsOneSquareOfAllImagesToZero) {
  Cutout cutout({});
  const at::Tensor cut = transformed_images(cutout);
  at::Tensor wanted = images().clone();
  inside(wanted, {2, 2, 4, 4}).zero_();  // of seed 1 and step 0
  EXPECT_TRUE(cut.equal(wanted));
  ++state_.clock.step;
  EXPECT_FALSE(transformed_images(cutout).equal(wanted));
}

TEST_F(CutoutTest, LeavesLabelsAndTheLoadersMemoryAlone) {
  Cutout cutout({});
  expect_labels_and_loaders_memory_left_alone(cutout);
  EXPECT_FALSE(transformed(cutout).fields.contains("targets"));
}

TEST_F(CutoutTest, TakesImagesOfAnyLayoutAndType) {
  Cutout cutout({.num_holes = 2});
  expect_any_layout_and_type(cutout);
}

TEST_F(CutoutTest, CutsAGroupAlikeInEveryMicrobatchThatHoldsIt) {
  Cutout cutout({.group = 2});
  expect_groups_equal(cutout);
  set_images(4, 8, 6);
  const at::Tensor is_hole = transformed_images(cutout).eq(0);
  EXPECT_TRUE(is_hole[0].equal(is_hole[1]));
  EXPECT_FALSE(is_hole[0].equal(is_hole[2]));
}

TEST_F(CutoutTest, WaitsForNoDevice) {
  Cutout cutout({});
  expect_no_wait(cutout);
}

TEST_F(CutoutTest, RefusesABatchWithoutImages) {
  state_.batch.fields = {{"series", at::zeros({3, 2})}};
  Cutout cutout({});
  EXPECT_THAT([&] { transformed(cutout); },
              ThrowsMessage<base::ConfigError>(HasSubstr("algorithms.cutout needs a data set")));
}

TEST_F(CutoutTest, HasTheImagesTwice) {
  EXPECT_EQ(Cutout({}).copied_bytes(state_, {{"images", 96}}), 96U);
  EXPECT_TRUE(Cutout({}).traits().may_come_or_go);
}

}  // namespace
}  // namespace paceline::algorithms
