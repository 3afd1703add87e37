#pragma once

#include <span>
#include <string>
#include <vector>

namespace paceline::cli {

/// A curve to draw, from left to right.
struct Chart {
  std::string title;
  std::string x_label;
  std::vector<double> x;  ///< rising, at least one
  std::vector<double> y;  ///< one for each
};

/// How wide a chart may be on standard output; 0 where that is no terminal.
int terminal_columns();

/// An area of blocks of that size, with the smallest and largest value beside it, for a terminal:
/// `columns` and `rows` count characters and lines, all included.
std::string text_chart(const Chart& chart, int columns, int rows);

/// All charts below each other, as a page that a browser opens.
std::string svg_charts(std::span<const Chart> charts);

}  // namespace paceline::cli
