#include "paceline/data/picture/sheet.h"

#include "paceline/base/error.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

constexpr Colour kLetter{255, 214, 90};

/// Two columns and rows of 3 x 3 pixels, all black but the first one's first pixel.
Sheet small_sheet() {
  const ColourScale grey{ColourMap::kGrey, -1000, 1000, "HU"};
  const std::vector<float> black(9, -1000.0F);
  std::vector<float> marked = black;
  marked[0] = 1000;
  return {.side = 3,
          .caption = "a patient",
          .columns = {{"truth", grey}, {"difference", {ColourMap::kDiverging, -500, 500, "HU"}}},
          .rows = {{"axial", letters_of(Plane::kAxial), {marked, black}},
                   {"coronal", {.left = 'R'}, {black, black}}}};
}

/// Whether a box has a pixel of this colour.
bool holds(const Canvas& canvas, const Box& box, Colour colour) {
  for (int y = box.top; y < box.bottom(); ++y) {
    for (int x = box.left; x < box.right(); ++x) {
      if (canvas.at(x, y) == colour) return true;
    }
  }
  return false;
}

TEST(Sheet, ImagesAreMagnifiedByWholePixels) {
  EXPECT_EQ(magnification_of(16), 12);
  EXPECT_EQ(magnification_of(64), 3);
  EXPECT_EQ(magnification_of(100), 2);
  EXPECT_EQ(magnification_of(192), 1);
  EXPECT_EQ(magnification_of(256), 1);
}

TEST(Sheet, AnImageKeepsItsAspect) {
  const Sheet sheet = small_sheet();
  const Canvas canvas = draw(sheet);
  const Box place = place_of(sheet, 0, 0);
  EXPECT_EQ(place.width, 192);
  EXPECT_EQ(place.height, 192);
  const Colour white{255, 255, 255};
  const Colour black{0, 0, 0};
  EXPECT_EQ(canvas.at(place.left, place.top), white);
  EXPECT_EQ(canvas.at(place.left + 63, place.top + 63), white);
  EXPECT_EQ(canvas.at(place.left + 64, place.top), black);
  EXPECT_EQ(canvas.at(place.left, place.top + 64), black);
  EXPECT_EQ(canvas.at(place.right() - 1, place.bottom() - 1), black);
}

TEST(Sheet, ColumnsHaveTheirScales) {
  const Sheet sheet = small_sheet();
  const Canvas canvas = draw(sheet);
  const Box place = place_of(sheet, 0, 1);
  const ColourScale& scale = sheet.columns[1].scale;
  EXPECT_EQ(canvas.at(place.left, place.top), scale.at(-500));
  const Box bar = place_of_bar(sheet, 1);
  EXPECT_EQ(bar.left, place.left);
  EXPECT_EQ(bar.width, place.width);
  EXPECT_GT(bar.top, place_of(sheet, 1, 1).bottom());
  const Colour first = canvas.at(bar.left, bar.top + 1);
  const Colour last = canvas.at(bar.right() - 1, bar.top + 1);
  EXPECT_NEAR(first.blue, scale.at(-500).blue, 2);
  EXPECT_NEAR(last.red, scale.at(500).red, 2);
  // Numbers stand below it.
  const Box numbers{bar.bottom() + 5, bar.left, canvas.size().height - bar.bottom() - 5, 60};
  EXPECT_TRUE(holds(canvas, numbers, TextStyle().colour));
}

TEST(Sheet, LettersStandAtTheEdgesInTheirMiddle) {
  const Sheet sheet = small_sheet();
  const Canvas canvas = draw(sheet);
  const auto has_letter = [&](const Box& place, int row, int column) {
    // Of nine parts of the image.
    return holds(canvas, {place.top + 64 * row, place.left + 64 * column, 64, 64}, kLetter);
  };
  for (std::size_t column = 0; column < 2; ++column) {
    const Box axial = place_of(sheet, 0, column);
    const Box coronal = place_of(sheet, 1, column);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        EXPECT_EQ(has_letter(axial, i, j), (i + j) % 2 == 1) << i << ' ' << j;
        EXPECT_EQ(has_letter(coronal, i, j), i == 1 && j == 0) << i << ' ' << j;
      }
    }
  }
}

TEST(Sheet, TitlesStandAboveAndBeside) {
  const Sheet sheet = small_sheet();
  const Canvas canvas = draw(sheet);
  const Box first = place_of(sheet, 0, 0);
  const Colour ink = TextStyle().colour;
  EXPECT_TRUE(holds(canvas, {0, 0, 22, canvas.size().width}, ink));                // the caption
  EXPECT_TRUE(holds(canvas, {first.top - 20, first.left, 20, first.width}, ink));  // truth, HU
  EXPECT_TRUE(holds(canvas, {first.top, 0, first.height, first.left - 2}, ink));   // axial
}

TEST(Sheet, ItIsAsWideAsItsCaption) {
  Sheet sheet = small_sheet();
  sheet.caption = std::string(200, 'm');
  EXPECT_GE(draw(sheet).size().width, text_size(sheet.caption, 2).width);
}

TEST(Sheet, ANoticeStandsBelowAll) {
  Sheet sheet = small_sheet();
  const ImageSize without = draw(sheet).size();
  sheet.notice = "not for diagnosis";
  const Canvas canvas = draw(sheet);
  EXPECT_EQ(canvas.size().width, without.width);
  EXPECT_EQ(canvas.size().height, without.height + 22);
  const Box below{without.height - 8, 0, 22, canvas.size().width};
  EXPECT_TRUE(holds(canvas, below, TextStyle().colour));
  sheet.notice = std::string(200, 'm');
  EXPECT_GE(draw(sheet).size().width, text_size(sheet.notice, 2).width);
}

TEST(Sheet, RefusesRowsOfOtherLengths) {
  Sheet sheet = small_sheet();
  sheet.rows[1].images.pop_back();
  EXPECT_THROW(draw(sheet), base::InternalError);
  EXPECT_THROW(draw({.side = 3, .caption = "", .columns = {}, .rows = {}}), base::InternalError);
}

}  // namespace
}  // namespace paceline::data
