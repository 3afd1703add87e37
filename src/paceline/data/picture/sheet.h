#pragma once

#include "paceline/data/picture/canvas.h"
#include "paceline/data/picture/colour_scale.h"
#include "paceline/data/picture/slices.h"

#include <cstddef>
#include <string>
#include <vector>

namespace paceline::data {

/// Square images of numbers as a table, each column with a bar of its colours below, which tells
/// what they mean.
struct Sheet {
  struct Column {
    std::string title;
    ColourScale scale;
  };
  struct Row {
    std::string title;
    EdgeLetters letters;
    std::vector<std::vector<float>> images;  ///< of each column, [side, side], row by row
  };
  int side = 0;  ///< of an image, in its own pixels
  std::string caption;
  std::string notice = {};  ///< below all
  std::vector<Column> columns;
  std::vector<Row> rows;
};

/// Each pixel of an image is drawn as a square of so many pixels a side, so that images are 192
/// pixels wide and high, or more.
int magnification_of(int side);

/// Where an image is drawn.
Box place_of(const Sheet& sheet, std::size_t row, std::size_t column);
/// Where a column's bar is drawn.
Box place_of_bar(const Sheet& sheet, std::size_t column);

Canvas draw(const Sheet& sheet);

}  // namespace paceline::data
