#include "paceline/data/picture/bitmap_font.h"

#include <set>
#include <string_view>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(BitmapFont, RowsGoFromTheTopAndBitsFromTheRight) {
  EXPECT_EQ(glyph_of('L'), (Glyph{0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x1f}));
}

TEST(BitmapFont, EachCharacterHasAShapeOfItsOwn) {
  constexpr std::string_view kAll =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz.,-+:'%()/=_";
  std::set<Glyph> shapes;
  for (const char character : kAll) shapes.insert(glyph_of(character));
  EXPECT_EQ(shapes.size(), kAll.size());
  EXPECT_FALSE(shapes.contains(Glyph{}));
}

TEST(BitmapFont, WhatItLacksIsEmpty) {
  EXPECT_EQ(glyph_of(' '), Glyph{});
  EXPECT_EQ(glyph_of('\n'), Glyph{});
  EXPECT_EQ(glyph_of('~'), Glyph{});
}

}  // namespace
}  // namespace paceline::data
