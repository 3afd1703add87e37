#include "paceline/train/tasks/volume/volume_pictures.h"

#include "paceline/data/picture/sheet.h"

#include <gtest/gtest.h>

namespace paceline::train {
namespace {

constexpr std::int64_t kShownSide = 16;
constexpr std::array<double, 2> kWindow{-1000, 3000};

/// A sheet that has so many columns, to ask where things lie.
data::Sheet sheet_like(std::size_t columns, std::vector<std::string> rows, std::string caption) {
  data::Sheet sheet{.side = kShownSide, .caption = std::move(caption), .columns = {}, .rows = {}};
  sheet.columns.resize(columns);
  for (std::string& title : rows) sheet.rows.push_back({std::move(title), {}, {}});
  return sheet;
}
data::Sheet slices_like(std::size_t columns) {
  return sheet_like(columns, {"axial", "coronal", "sagittal"}, "as slices have one");
}

data::Colour pixel(const metrics::Picture& picture, int x, int y) {
  const std::uint8_t* const at = &picture.pixels.at(
      3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(picture.width) +
           static_cast<std::size_t>(x)));
  return {at[0], at[1], at[2]};
}
/// Of the image's own pixel, beside letters.
data::Colour shown(const metrics::Picture& picture, const data::Box& place, int row, int column) {
  const int magnification = data::magnification_of(kShownSide);
  return pixel(picture, place.left + column * magnification + 1,
               place.top + row * magnification + 1);
}

class VolumePicturesTest : public ::testing::Test {
 protected:
  VolumePicturesTest() {
    // At the patient's right, in front, in the middle of the height.
    truth_[kShownSide / 2][kShownSide - 2][kShownSide - 2] = 1000;
    mean_ = truth_ + 500;
  }
  at::Tensor truth_ = at::full({kShownSide, kShownSide, kShownSide}, -1000.0, at::kDouble);
  at::Tensor mean_;
};

TEST_F(VolumePicturesTest, SlicesAreTruthPredictionAndDifference) {
  const metrics::Picture picture = slices_picture(
      {.truth = truth_, .sample = mean_, .mean = mean_, .deviation = truth_ * 0}, kWindow);
  EXPECT_EQ(picture.name, "slices");
  const data::Sheet like = slices_like(3);
  EXPECT_EQ(picture.width, data::place_of(like, 0, 2).right() + 8);
  const auto place = [&](std::size_t column) { return data::place_of(like, 0, column); };
  EXPECT_EQ(shown(picture, place(0), 1, 1), (data::Colour{255, 255, 255}));
  EXPECT_EQ(shown(picture, place(0), 1, 14), (data::Colour{0, 0, 0})) << "left and right";
  EXPECT_EQ(shown(picture, place(0), 14, 1), (data::Colour{0, 0, 0})) << "front and back";
  EXPECT_EQ(shown(picture, place(1), 14, 1), (data::Colour{64, 64, 64}));  // -500 HU
  const data::ColourScale differences{data::ColourMap::kDiverging, -500, 500, "HU"};
  EXPECT_EQ(shown(picture, place(2), 14, 1), differences.at(500));
}

TEST_F(VolumePicturesTest, SeveralSamplesHaveAMeanAndADeviation) {
  const at::Tensor deviation = at::full_like(truth_, 125);
  const metrics::Picture picture = slices_picture({.truth = truth_,
                                                   .sample = truth_.to(at::kHalf),
                                                   .mean = mean_,
                                                   .deviation = deviation,
                                                   .num_samples = 4},
                                                  kWindow);
  const data::Sheet like = slices_like(5);
  EXPECT_EQ(picture.width, data::place_of(like, 0, 4).right() + 8);
  EXPECT_EQ(shown(picture, data::place_of(like, 2, 1), 1, 1), (data::Colour{0, 0, 0}));
  EXPECT_EQ(shown(picture, data::place_of(like, 2, 2), 1, 1), (data::Colour{64, 64, 64}));
  const data::ColourScale deviations{data::ColourMap::kSequential, 0, 250, "HU"};
  EXPECT_EQ(shown(picture, data::place_of(like, 2, 4), 1, 1), deviations.at(125));
}

TEST_F(VolumePicturesTest, WithoutTruthThereIsNoDifference) {
  const ShownVolumes one{.mean = mean_, .deviation = mean_ * 0};
  const ShownVolumes several{.mean = mean_, .deviation = mean_ * 0, .num_samples = 8};
  EXPECT_LT(slices_picture(one, kWindow).width, slices_picture(several, kWindow).width + 1);
  EXPECT_LT(slices_picture(several, kWindow).width, data::place_of(slices_like(3), 0, 2).right());
  EXPECT_EQ(shown(slices_picture(several, kWindow), data::place_of(slices_like(2), 0, 1), 1, 1),
            (data::ColourScale{data::ColourMap::kSequential, 0, 250, ""}.at(0)));
}

TEST_F(VolumePicturesTest, ANarrowWindowIsTheWindowThatIsShown) {
  const ShownVolumes volumes{.truth = truth_, .mean = truth_, .deviation = truth_ * 0};
  const metrics::Picture bone = slices_picture(volumes, {1200, 3000});
  EXPECT_EQ(shown(bone, data::place_of(slices_like(3), 0, 0), 1, 1), (data::Colour{0, 0, 0}));
  const metrics::Picture soft = slices_picture(
      {.truth = truth_ * 0 + 60, .mean = truth_, .deviation = truth_ * 0}, {-160, 240});
  EXPECT_EQ(shown(soft, data::place_of(slices_like(3), 0, 0), 1, 1), (data::Colour{140, 140, 140}));
}

TEST_F(VolumePicturesTest, XraysAreGivenMadeAndTheirDifferenceByView) {
  const at::Tensor given = at::zeros({2, kShownSide, kShownSide});
  given[0][1][1] = 0.5;  // of 400 mm: 20 cm
  const at::Tensor made = given.clone();
  made[1][1][2] = 0.05;
  const metrics::Picture picture =
      xrays_picture({.given = given, .made = made, .angles_degrees = {0, 90}, .fov_mm = 400});
  EXPECT_EQ(picture.name, "xrays");
  const data::Sheet like = sheet_like(3, {"frontal", "lateral"}, "as X-rays have one");
  EXPECT_EQ(shown(picture, data::place_of(like, 0, 0), 1, 1), (data::Colour{255, 255, 255}));
  EXPECT_EQ(shown(picture, data::place_of(like, 1, 0), 1, 1), (data::Colour{0, 0, 0}));
  const data::ColourScale differences{data::ColourMap::kDiverging, -2, 2, ""};
  EXPECT_EQ(shown(picture, data::place_of(like, 1, 2), 1, 2), differences.at(2));
  EXPECT_EQ(shown(picture, data::place_of(like, 0, 2), 1, 2), differences.at(0));
}

TEST_F(VolumePicturesTest, TheNoticeStandsBelow) {
  const auto has_text_below = [](const metrics::Picture& picture) {
    constexpr int kNoticeHeight = 30;  // below the numbers of the scales
    for (int y = picture.height - kNoticeHeight; y < picture.height; ++y) {
      for (int x = 0; x < picture.width; ++x) {
        if (pixel(picture, x, y) == data::TextStyle().colour) return true;
      }
    }
    return false;
  };
  EXPECT_TRUE(has_text_below(slices_picture({.mean = mean_, .deviation = mean_ * 0}, kWindow)));
  const at::Tensor air = at::zeros({1, kShownSide, kShownSide});
  EXPECT_TRUE(has_text_below(
      xrays_picture({.given = air, .made = air, .angles_degrees = {0}, .fov_mm = 400})));
}

TEST_F(VolumePicturesTest, XraysOfAirAreShownToo) {
  const at::Tensor air = at::zeros({1, kShownSide, kShownSide}, at::kDouble);
  EXPECT_GT(xrays_picture({.given = air, .made = air, .angles_degrees = {30}, .fov_mm = 400}).width,
            0);
}

}  // namespace
}  // namespace paceline::train
