#include "paceline/data/picture/sheet.h"

#include "paceline/base/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace paceline::data {
namespace {

constexpr int kLeastSide = 192;  // of an image that is drawn: its titles need the room
constexpr int kMargin = 8;
constexpr int kGap = 10;  // between images
constexpr int kBarHeight = 10;
constexpr int kTextScale = 2;
constexpr int kLineHeight = 22;
constexpr int kTick = 4;
constexpr Colour kGround{24, 24, 28};
constexpr Colour kTickColour{220, 220, 220};
constexpr TextStyle kLetterStyle{.colour = {255, 214, 90}, .is_outlined = true};

int drawn_side(const Sheet& sheet) { return sheet.side * magnification_of(sheet.side); }

int text_width(std::string_view text) { return text_size(text, kTextScale).width; }

/// Where images begin: captions and titles lie above, names of the rows beside.
int left_of(const Sheet& sheet) {
  int widest = 0;
  for (const Sheet::Row& row : sheet.rows) widest = std::max(widest, text_width(row.title));
  return kMargin + widest + kGap;
}
int top_of(const Sheet& sheet) { return kMargin + (sheet.caption.empty() ? 1 : 2) * kLineHeight; }

/// Where the numbers below the bars end.
int bottom_of(const Sheet& sheet) { return place_of_bar(sheet, 0).bottom() + kTick + kLineHeight; }

ImageSize size_of(const Sheet& sheet) {
  const Box bar = place_of_bar(sheet, sheet.columns.size() - 1);
  const int text = 2 * kMargin + std::max(text_width(sheet.caption), text_width(sheet.notice));
  const int notice = sheet.notice.empty() ? 0 : kLineHeight;
  return {bottom_of(sheet) + notice + kMargin, std::max(bar.right() + kMargin, text)};
}

void draw_image(const Sheet& sheet, std::size_t row, std::size_t column, Canvas& canvas) {
  const std::vector<float>& values = sheet.rows[row].images[column];
  const ColourScale& scale = sheet.columns[column].scale;
  const auto side = static_cast<std::size_t>(sheet.side);
  const int magnification = magnification_of(sheet.side);
  const Box place = place_of(sheet, row, column);
  for (int y = 0; y < sheet.side; ++y) {
    for (int x = 0; x < sheet.side; ++x) {
      const float value = values[static_cast<std::size_t>(y) * side + static_cast<std::size_t>(x)];
      canvas.fill({place.top + y * magnification, place.left + x * magnification, magnification,
                   magnification},
                  scale.at(value));
    }
  }
}

void write_letters(const EdgeLetters& letters, const Box& place, Canvas& canvas) {
  constexpr int kInset = 4;
  const ImageSize letter = text_size("R", kTextScale);
  const auto write = [&](char character, int x, int y) {
    if (character != '\0') canvas.write(x, y, {&character, 1}, kLetterStyle);
  };
  const int middle_x = place.left + (place.width - letter.width) / 2;
  const int middle_y = place.top + (place.height - letter.height) / 2;
  write(letters.left, place.left + kInset, middle_y);
  write(letters.right, place.right() - kInset - letter.width, middle_y);
  write(letters.top, middle_x, place.top + kInset);
  write(letters.bottom, middle_x, place.bottom() - kInset - letter.height);
}

void draw_bar(const Sheet& sheet, std::size_t column, Canvas& canvas) {
  const ColourScale& scale = sheet.columns[column].scale;
  const Box bar = place_of_bar(sheet, column);
  const auto value_at = [&](double share) { return scale.low + share * (scale.high - scale.low); };
  for (int x = 0; x < bar.width; ++x) {
    const double share = (x + 0.5) / bar.width;
    canvas.fill({bar.top, bar.left + x, bar.height, 1}, scale.at(value_at(share)));
  }
  for (const double share : {0.0, 0.5, 1.0}) {
    const std::string number = fmt::format("{:.6g}", value_at(share));
    const int width = text_width(number);
    const int x = bar.left + static_cast<int>(share * (bar.width - 1));
    canvas.fill({bar.bottom(), x, kTick, 1}, kTickColour);
    canvas.write(std::clamp(x - width / 2, bar.left, bar.right() - width), bar.bottom() + kTick + 2,
                 number);
  }
}

}  // namespace

int magnification_of(int side) { return std::max(1, (kLeastSide + side - 1) / side); }

Box place_of(const Sheet& sheet, std::size_t row, std::size_t column) {
  const int side = drawn_side(sheet);
  return {top_of(sheet) + static_cast<int>(row) * (side + kGap),
          left_of(sheet) + static_cast<int>(column) * (side + kGap), side, side};
}

Box place_of_bar(const Sheet& sheet, std::size_t column) {
  const Box last = place_of(sheet, sheet.rows.size() - 1, column);
  return {last.bottom() + kGap, last.left, kBarHeight, last.width};
}

Canvas draw(const Sheet& sheet) {
  PACELINE_CHECK(sheet.side > 0 && !sheet.columns.empty() && !sheet.rows.empty(),
                 "a sheet without images");
  Canvas canvas(size_of(sheet), kGround);
  canvas.write(kMargin, kMargin, sheet.caption);
  canvas.write(kMargin, bottom_of(sheet) + kTick, sheet.notice);
  for (std::size_t column = 0; column < sheet.columns.size(); ++column) {
    const Sheet::Column& of = sheet.columns[column];
    const std::string title =
        of.scale.unit.empty() ? of.title : fmt::format("{}, {}", of.title, of.scale.unit);
    canvas.write(place_of(sheet, 0, column).left, top_of(sheet) - kLineHeight + 2, title);
    draw_bar(sheet, column, canvas);
  }
  for (std::size_t row = 0; row < sheet.rows.size(); ++row) {
    const Sheet::Row& of = sheet.rows[row];
    PACELINE_CHECK(of.images.size() == sheet.columns.size(), "{} images in {} columns",
                   of.images.size(), sheet.columns.size());
    const Box first = place_of(sheet, row, 0);
    canvas.write(kMargin, first.top + (first.height - text_size("R", kTextScale).height) / 2,
                 of.title);
    for (std::size_t column = 0; column < sheet.columns.size(); ++column) {
      draw_image(sheet, row, column, canvas);
      write_letters(of.letters, place_of(sheet, row, column), canvas);
    }
  }
  return canvas;
}

}  // namespace paceline::data
