#include "paceline/algorithms/colout/colout.h"

#include "paceline/algorithms/cutout/cutout.h"
#include "paceline/base/error.h"
#include "support/chi_square.h"
#include "unit/algorithms/image_step.h"

#include <memory>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr nn::ImageSize kThinnedImage{8, 6};

// Numbers of a Philox of its own, in Python.
TEST(ColoutDraws, StayWhatTheyAre) {
  const KeptLines lines = draw_lines({}, {0, 4, {3, 5, 16}}, kThinnedImage);
  EXPECT_THAT(lines.rows, ElementsAre(0, 2, 3, 4, 5, 7));
  EXPECT_THAT(lines.columns, ElementsAre(0, 2, 3, 4, 5));
}

TEST(ColoutDraws, KeepEveryLineAsOften) {
  constexpr int kDraws = 4'000;
  std::vector<int> rows(8);
  std::vector<int> columns(6);
  for (std::int64_t step = 0; step < kDraws; ++step) {
    const KeptLines lines =
        draw_lines({.p_row = 0.5, .p_col = 0.5}, {0, 1, {3, step, 0}}, kThinnedImage);
    for (const std::int64_t row : lines.rows) ++rows.at(static_cast<std::size_t>(row));
    for (const std::int64_t column : lines.columns) ++columns.at(static_cast<std::size_t>(column));
  }
  EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), 0), 4 * kDraws);
  EXPECT_EQ(std::accumulate(columns.begin(), columns.end(), 0), 3 * kDraws);
  // Without replacement, so that counts lie closer together than in independent draws.
  EXPECT_LT(test::chi_square(rows), 24.3);     // 7 degrees of freedom, 0.1 %
  EXPECT_LT(test::chi_square(columns), 20.5);  // 5
}

TEST(ColoutDraws, KeepAsManyAsTheSharesLeave) {
  const auto expect_size = [](const ColoutConfig& config, nn::ImageSize image,
                              nn::ImageSize wanted) {
    EXPECT_EQ(kept_size(config, image).height, wanted.height);
    EXPECT_EQ(kept_size(config, image).width, wanted.width);
  };
  expect_size({}, {224, 224}, {190, 190});
  expect_size({}, {32, 48}, {27, 40});
  expect_size({.p_row = 0, .p_col = 0.5}, {7, 7}, {7, 3});
}

class ColoutTest : public ImageStep {
 protected:
  ColoutTest() { set_images(4, 8, 6); }
};

TEST_F(ColoutTest, KeepsTheDrawnLinesOfAllImagesInOrder) {
  Colout colout({});
  const KeptLines lines = draw_lines({}, {0, 4, {run_.seed, 0, 0}}, kThinnedImage);
  const at::Tensor got = transformed_images(colout);
  ASSERT_EQ(got.sizes(), at::IntArrayRef({4, 3, 6, 5}));
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t column = 0; column < 5; ++column) {
      const at::Tensor wanted =
          images().select(2, lines.rows.at(row)).select(2, lines.columns.at(column));
      EXPECT_TRUE(got.select(2, static_cast<std::int64_t>(row))
                      .select(2, static_cast<std::int64_t>(column))
                      .equal(wanted));
    }
  }
}

TEST_F(ColoutTest, LeavesLabelsAndTheLoadersMemoryAlone) {
  Colout colout({});
  expect_labels_and_loaders_memory_left_alone(colout);
}

TEST_F(ColoutTest, TakesImagesOfAnyLayoutAndType) {
  Colout colout({});
  expect_any_layout_and_type(colout);
  Colout by_groups({.group = 2});
  expect_any_layout_and_type(by_groups);
}

TEST_F(ColoutTest, ThinsAGroupAlikeInEveryMicrobatchThatHoldsIt) {
  Colout colout({.group = 2});
  expect_groups_equal(colout);
}

TEST_F(ColoutTest, WaitsForNoDevice) {
  Colout colout({});
  expect_no_wait(colout);
}

TEST_F(ColoutTest, ComesBeforeHoles) {
  EXPECT_LT(Colout({}).traits().order, Cutout({}).traits().order);
}

/// Takes images of 8 x 6 pixels.
class FixedSize final : public FiveClasses {
 public:
  double flops_per_image(std::int64_t height, std::int64_t width) const override {
    if (height != 8 || width != 6) throw base::ConfigError("the model takes 8 x 6 pixels");
    return 0;
  }
};

TEST_F(ColoutTest, RefusesANetworkThatTakesNoSmallerImages) {
  set_network(std::make_shared<FixedSize>());
  Colout colout({});
  EXPECT_THAT([&] { transformed(colout); },
              ThrowsMessage<base::ConfigError>(
                  HasSubstr("algorithms.colout leaves 6 x 5 of 8 x 6 pixels, which the network "
                            "does not take: the model takes 8 x 6 pixels")));
  Colout nothing({.p_row = 0, .p_col = 0});
  EXPECT_TRUE(transformed_images(nothing).equal(images()));
}

TEST_F(ColoutTest, RefusesToLeaveNothing) {
  Colout colout({.p_row = 0.95});
  EXPECT_THAT([&] { transformed(colout); },
              ThrowsMessage<base::ConfigError>(HasSubstr("leaves nothing of images of 8 x 6")));
}

TEST_F(ColoutTest, RefusesMasksOfTheImagesSize) {
  state_.batch.fields.set("masks", at::zeros({4, 8, 6}, at::kLong));
  Colout colout({});
  EXPECT_THAT([&] { transformed(colout); },
              ThrowsMessage<base::ConfigError>(HasSubstr("field masks is of their size")));
}

TEST_F(ColoutTest, RefusesABatchWithoutImages) {
  state_.batch.fields = {{"series", at::zeros({3, 2})}};
  Colout colout({});
  EXPECT_THAT([&] { transformed(colout); },
              ThrowsMessage<base::ConfigError>(HasSubstr("algorithms.colout needs a data set")));
}

TEST_F(ColoutTest, HasWhatIsLeftOfTheImagesTwice) {
  EXPECT_EQ(Colout({.p_row = 0.5, .p_col = 0.25}).copied_bytes(state_, {{"images", 96}}), 36U);
  EXPECT_TRUE(Colout({}).traits().may_come_or_go);
}

}  // namespace
}  // namespace paceline::algorithms
