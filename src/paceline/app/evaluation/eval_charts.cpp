#include "paceline/app/evaluation/eval_charts.h"

#include "paceline/app/evaluation/html_text.h"
#include "paceline/app/evaluation/top_classes.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace paceline::app {
namespace {

// Of the plot, in its own units.
constexpr double kLeft = 46;
constexpr double kTop = 10;
constexpr double kSide = 300;
constexpr double kBarsTop = kTop + kSide + 30;
constexpr double kBarsHeight = 60;
constexpr double kWidth = kLeft + kSide + 14;
constexpr double kHeight = kBarsTop + kBarsHeight + 24;

double x_of(double probability) { return kLeft + kSide * probability; }
double y_of(double share) { return kTop + kSide * (1 - share); }

std::string axes() {
  std::string svg;
  for (int tenth = 0; tenth <= 10; tenth += 2) {
    const double value = tenth / 10.0;
    svg += fmt::format(
        "<line x1='{0:.1f}' y1='{1}' x2='{0:.1f}' y2='{2}' stroke='currentColor' "
        "stroke-opacity='.15'/><line x1='{3}' y1='{4:.1f}' x2='{5}' y2='{4:.1f}' "
        "stroke='currentColor' stroke-opacity='.15'/>"
        "<text x='{0:.1f}' y='{6}' text-anchor='middle'>{7:.1f}</text>"
        "<text x='{8}' y='{9:.1f}' text-anchor='end'>{7:.1f}</text>",
        x_of(value), kTop, kTop + kSide, kLeft, y_of(value), kLeft + kSide, kTop + kSide + 16,
        value, kLeft - 6, y_of(value) + 4);
  }
  return svg + fmt::format(
                   "<line x1='{}' y1='{}' x2='{}' y2='{}' stroke='currentColor' "
                   "stroke-opacity='.6' stroke-dasharray='5 4'/>"
                   "<text x='12' y='{}' transform='rotate(-90 12 {})' "
                   "text-anchor='middle'>accuracy</text>"
                   "<text x='{}' y='{}' text-anchor='middle'>probability of what was told; below: "
                   "samples</text>",
                   x_of(0), y_of(0), x_of(1), y_of(1), kTop + kSide / 2, kTop + kSide / 2,
                   kLeft + kSide / 2, kHeight - 6);
}

std::string bar(const CalibrationBin& bin, std::int64_t most) {
  const double x = x_of(bin.from) + 1;
  const double width = x_of(bin.to) - x_of(bin.from) - 2;
  const double count = kBarsHeight * static_cast<double>(bin.samples) /
                       static_cast<double>(std::max<std::int64_t>(most, 1));
  return fmt::format(
      "<g><title>{} samples with {:.3f} to {:.3f}: mean probability {:.4f}, accuracy "
      "{:.4f}</title>"
      "<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' fill='var(--right)' "
      "fill-opacity='.55'/>"
      "<circle cx='{:.1f}' cy='{:.1f}' r='3' fill='var(--wrong)'/>"
      "<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' fill-opacity='.45'/></g>",
      bin.samples, bin.from, bin.to, bin.confidence, bin.accuracy, x, y_of(bin.accuracy), width,
      kSide * bin.accuracy, x_of(bin.confidence), y_of(bin.accuracy), x,
      kBarsTop + kBarsHeight - count, width, count);
}

std::string cell(std::int64_t count, std::int64_t row_sum, bool is_right) {
  if (count == 0) return "<td class='empty'>0</td>";
  const double share = static_cast<double>(count) / static_cast<double>(row_sum);
  return fmt::format("<td style='background:rgba({},{:.2f})'>{}</td>",
                     is_right ? "37,99,235" : "234,88,12", 0.12 + 0.5 * share, count);
}

}  // namespace

std::string calibration_svg(const std::vector<CalibrationBin>& bins) {
  std::int64_t most = 0;
  for (const CalibrationBin& bin : bins) most = std::max(most, bin.samples);
  std::string svg = fmt::format(
      "<svg viewBox='0 0 {0} {1}' width='{0}' height='{1}' role='img' aria-label='calibration'>",
      kWidth, kHeight);
  svg += axes();
  for (const CalibrationBin& bin : bins) {
    if (bin.samples > 0) svg += bar(bin, most);
  }
  return svg + "</svg>";
}

std::string confusion_table(const std::vector<std::vector<std::int64_t>>& matrix,
                            std::span<const std::string> class_names) {
  std::string html = "<table class='matrix'><thead><tr><th></th>";
  for (std::size_t told = 0; told < matrix.size(); ++told) {
    html += fmt::format("<th><span>{}</span></th>",
                        escape_html(name_of_class(class_names, static_cast<std::int64_t>(told))));
  }
  html += "</tr></thead><tbody>";
  for (std::size_t label = 0; label < matrix.size(); ++label) {
    const auto& row = matrix[label];
    const std::int64_t sum = std::accumulate(row.begin(), row.end(), std::int64_t{0});
    html += fmt::format("<tr><th>{}</th>",
                        escape_html(name_of_class(class_names, static_cast<std::int64_t>(label))));
    for (std::size_t told = 0; told < row.size(); ++told)
      html += cell(row[told], sum, label == told);
    html += "</tr>\n";
  }
  return html + "</tbody></table>";
}

}  // namespace paceline::app
