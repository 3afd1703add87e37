#include "paceline/data/picture/canvas.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

constexpr Colour kGround{1, 2, 3};
constexpr Colour kInk{200, 100, 50};

TEST(Canvas, PixelsLieRowByRow) {
  Canvas canvas({2, 3}, kGround);
  canvas.set(2, 1, kInk);
  EXPECT_EQ(canvas.pixels(), (std::vector<std::uint8_t>{1, 2, 3, 1, 2, 3, 1, 2, 3,  //
                                                        1, 2, 3, 1, 2, 3, 200, 100, 50}));
  EXPECT_EQ(canvas.at(2, 1), kInk);
  EXPECT_EQ(canvas.at(1, 1), kGround);
}

TEST(Canvas, WhatLiesOutsideIsLeftOut) {
  Canvas canvas({2, 2}, kGround);
  canvas.set(-1, 0, kInk);
  canvas.set(2, 0, kInk);
  canvas.set(0, 2, kInk);
  canvas.fill({-5, 1, 6, 10}, kInk);
  canvas.write(-3, -40, "R");
  EXPECT_EQ(canvas.at(0, 0), kGround);
  EXPECT_EQ(canvas.at(1, 0), kInk);
  EXPECT_EQ(canvas.at(1, 1), kGround);
}

TEST(Canvas, TextIsAsLargeAsItIsSaid) {
  EXPECT_EQ(text_size("LL", 2), (ImageSize{14, 22}));
  Canvas canvas({20, 30}, kGround);
  canvas.write(3, 4, "LL", {.colour = kInk, .scale = 2});
  int left = 30, right = 0, top = 20, bottom = 0;
  for (int y = 0; y < 20; ++y) {
    for (int x = 0; x < 30; ++x) {
      if (canvas.at(x, y) != kInk) continue;
      left = std::min(left, x);
      right = std::max(right, x);
      top = std::min(top, y);
      bottom = std::max(bottom, y);
    }
  }
  EXPECT_EQ(left, 3);
  EXPECT_EQ(right, 3 + 22 - 1);
  EXPECT_EQ(top, 4);
  EXPECT_EQ(bottom, 4 + 14 - 1);
}

TEST(Canvas, OutlinedTextHasBlackAroundIt) {
  Canvas canvas({12, 12}, kGround);
  canvas.write(2, 2, "I", {.colour = kInk, .scale = 1, .is_outlined = true});
  EXPECT_EQ(canvas.at(4, 5), kInk);
  EXPECT_EQ(canvas.at(3, 5), Colour{});
  EXPECT_EQ(canvas.at(5, 5), Colour{});
  EXPECT_EQ(canvas.at(7, 5), kGround);
}

}  // namespace
}  // namespace paceline::data
