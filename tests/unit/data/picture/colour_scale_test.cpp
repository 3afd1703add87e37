#include "paceline/data/picture/colour_scale.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(ColourScale, GreyGoesFromBlackToWhiteWithinItsWindow) {
  const ColourScale scale{ColourMap::kGrey, -1000, 1000, "HU"};
  EXPECT_EQ(scale.at(-1000), (Colour{0, 0, 0}));
  EXPECT_EQ(scale.at(-3000), (Colour{0, 0, 0}));
  EXPECT_EQ(scale.at(1000), (Colour{255, 255, 255}));
  EXPECT_EQ(scale.at(2000), (Colour{255, 255, 255}));
  EXPECT_EQ(scale.at(-600), (Colour{51, 51, 51}));
}

TEST(ColourScale, DifferencesAreBlueBelowAndRedAboveWhite) {
  const ColourScale scale{ColourMap::kDiverging, -500, 500, "HU"};
  const Colour none = scale.at(0);
  EXPECT_GT(none.red, 240);
  EXPECT_EQ(none.red, none.blue);
  EXPECT_EQ(none.red, none.green);
  for (const double value : {100.0, 300.0, 500.0, 5000.0}) {
    EXPECT_GT(scale.at(value).red, scale.at(value).blue);
    EXPECT_LT(scale.at(-value).red, scale.at(-value).blue);
  }
}

TEST(ColourScale, SpreadsGrowBrighter) {
  const ColourScale scale{ColourMap::kSequential, 0, 10, ""};
  int before = -1;
  for (double value = 0; value <= 10; value += 0.5) {
    const Colour colour = scale.at(value);
    const int brightness = 3 * colour.red + 6 * colour.green + colour.blue;
    EXPECT_GT(brightness, before) << value;
    before = brightness;
  }
}

TEST(ColourScale, WhatIsNoNumberIsGreen) {
  for (const ColourMap map : {ColourMap::kGrey, ColourMap::kDiverging, ColourMap::kSequential}) {
    EXPECT_EQ((ColourScale{map, 0, 1, ""}.at(std::nan(""))), (Colour{0, 255, 0}));
    const ColourScale scale{map, 0, 1, ""};
    EXPECT_EQ(scale.at(std::numeric_limits<double>::infinity()), scale.at(1));
  }
}

TEST(ColourScale, EndsAreRoundNumbers) {
  EXPECT_EQ(round_end(1), 1);
  EXPECT_EQ(round_end(26.3), 30);
  EXPECT_EQ(round_end(0.012), 0.015);
  EXPECT_EQ(round_end(400), 400);
  EXPECT_EQ(round_end(8.1), 10);
}

}  // namespace
}  // namespace paceline::data
