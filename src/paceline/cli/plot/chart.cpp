#include "paceline/cli/plot/chart.h"

#include "paceline/loggers/terminal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

namespace paceline::cli {
namespace {

/// What lies between two values, and where a value lies in it.
struct Range {
  double low, high;

  static Range of(const std::vector<double>& values) {
    const auto [low, high] = std::ranges::minmax(values);
    return {low, high};
  }
  /// From 0 to 1; the middle if all are the same.
  double share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

/// The curve's value at x, on straight lines between its points.
double value_at(const Chart& chart, double x) {
  const auto after = std::ranges::lower_bound(chart.x, x);
  if (after == chart.x.end()) return chart.y.back();
  const auto i = static_cast<std::size_t>(after - chart.x.begin());
  if (i == 0 || chart.x[i] == x) return chart.y[i];
  const double share = (x - chart.x[i - 1]) / (chart.x[i] - chart.x[i - 1]);
  return chart.y[i - 1] + share * (chart.y[i] - chart.y[i - 1]);
}

/// What fills `eighths` of a line of the chart.
std::string_view block(int eighths) {
  constexpr std::array<std::string_view, 9> kBlocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  return kBlocks[static_cast<std::size_t>(std::clamp(eighths, 0, 8))];
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

constexpr int kWidth = 800, kHeight = 220;  // of a chart in an SVG, in pixels
constexpr int kLeft = 80, kRight = 20, kTop = 40, kBottom = 40;

std::string svg_chart(const Chart& chart, int top) {
  const Range x = Range::of(chart.x), y = Range::of(chart.y);
  const int width = kWidth - kLeft - kRight, height = kHeight - kTop - kBottom;
  const int bottom = top + kTop + height;
  std::string points;
  for (std::size_t i = 0; i < chart.x.size(); ++i)
    points += fmt::format("{:.1f},{:.1f} ", kLeft + width * x.share(chart.x[i]),
                          bottom - height * y.share(chart.y[i]));
  const auto text = [](int at_x, int at_y, std::string_view anchor, const std::string& content) {
    return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", at_x, at_y, anchor,
                       escaped(content));
  };
  return text(kLeft, top + kTop - 14, "start", chart.title) +
         text(kLeft - 8, top + kTop + 5, "end", fmt::format("{:.4g}", y.high)) +
         text(kLeft - 8, bottom, "end", fmt::format("{:.4g}", y.low)) +
         text(kLeft, bottom + 18, "start", fmt::format("{:g}", x.low)) +
         text(kWidth - kRight, bottom + 18, "end", fmt::format("{:g} {}", x.high, chart.x_label)) +
         fmt::format("<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"#888\"/>\n", kLeft,
                     top + kTop, bottom, kWidth - kRight) +
         fmt::format(
             "<polyline points=\"{}\" fill=\"none\" stroke=\"#1660b8\" stroke-width=\"2\"/>\n",
             points);
}

}  // namespace

int terminal_columns() {
  constexpr int kMostColumns = 120;
  if (isatty(STDOUT_FILENO) == 0) return 0;
  return std::min(kMostColumns, loggers::terminal_width(STDOUT_FILENO, std::getenv));
}

std::string text_chart(const Chart& chart, int columns, int rows) {
  constexpr int kMargin = 12;  // for values
  const Range x = Range::of(chart.x), y = Range::of(chart.y);
  const int width = std::max(columns - kMargin, 8), height = std::max(rows - 2, 2);
  std::vector<int> eighths;  // of each column, a little where the value is the smallest
  for (int i = 0; i < width; ++i) {
    const double at = x.low + (x.high - x.low) * i / (width - 1);
    eighths.push_back(
        1 + static_cast<int>(std::lround(y.share(value_at(chart, at)) * (8 * height - 1))));
  }
  std::string text = chart.title + "\n";
  for (int row = height - 1; row >= 0; --row) {
    const bool is_edge = row == height - 1 || row == 0;
    const std::string value =
        is_edge ? fmt::format("{:.4g}", row == 0 ? y.low : y.high) : std::string();
    text += fmt::format("{:>{}} ", value, kMargin - 1);
    for (const int filled : eighths) text += block(filled - 8 * row);
    text += '\n';
  }
  const std::string first = fmt::format("{:g}", x.low);
  const std::string last = fmt::format("{:g} {}", x.high, chart.x_label);
  return text + fmt::format("{:>{}} {}{:>{}}\n", "", kMargin - 1, first, last,
                            std::max<int>(width - static_cast<int>(first.size()), 1));
}

std::string svg_charts(std::span<const Chart> charts) {
  const int height = kHeight * static_cast<int>(charts.size());
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{0}\" height=\"{1}\" "
      "fill=\"white\"/>\n",
      kWidth, height);
  for (std::size_t i = 0; i < charts.size(); ++i)
    svg += svg_chart(charts[i], kHeight * static_cast<int>(i));
  return svg + "</svg>\n";
}

}  // namespace paceline::cli
