#include "paceline/launcher/sweep/sweep_chart.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace paceline::launcher {
namespace {

constexpr int kWidth = 800, kHeight = 240;  // of a chart, in pixels
constexpr int kLeft = 80, kRight = 30, kTop = 40, kBottom = 44;

struct Point {
  double share = 0.5;  ///< of the width
  double metric = 0;
  double opacity = 1;
  bool is_best = false;
  std::string label = {};  ///< shown where the mouse rests
};

struct Tick {
  double share = 0;
  std::string text;
};

/// A chart but for its points.
struct Axes {
  std::string title;
  std::vector<Tick> ticks;
};

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

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number =
      parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && std::isfinite(value);
  return is_number ? std::optional(value) : std::nullopt;
}

/// Where values lie, from 0 to 1.
class Scale {
 public:
  Scale(double low, double high, bool is_log) : low_(low), high_(high), is_log_(is_log) {}

  double share(double value) const {
    if (!(high_ > low_)) return 0.5;
    if (is_log_) return std::log(value / low_) / std::log(high_ / low_);
    return (value - low_) / (high_ - low_);
  }
  std::vector<Tick> ticks() const {
    if (!(high_ > low_)) return {{0.5, fmt::format("{:g}", low_)}};
    const double middle = is_log_ ? std::sqrt(low_ * high_) : (low_ + high_) / 2;
    return {{0, fmt::format("{:.3g}", low_)},
            {0.5, fmt::format("{:.3g}", middle)},
            {1, fmt::format("{:.3g}", high_)}};
  }

 private:
  double low_;
  double high_;
  bool is_log_;
};

/// Places for the values of one key; numbers on a scale, else side by side in order of appearance.
struct Places {
  std::vector<double> shares = {};  ///< of each value
  std::vector<Tick> ticks = {};
};

Places places_of_numbers(const std::vector<double>& numbers, bool is_drawn_as_log) {
  constexpr double kWideSpan = 100;
  const auto [low, high] = std::ranges::minmax(numbers);
  const bool is_log = low > 0 && (is_drawn_as_log || high / low >= kWideSpan);
  const Scale scale(low, high, is_log);
  Places places{.shares = {}, .ticks = scale.ticks()};
  for (const double number : numbers) places.shares.push_back(scale.share(number));
  return places;
}

Places places_of(const std::vector<std::string>& values, bool is_drawn_as_log) {
  std::vector<double> numbers;
  for (const std::string& value : values) {
    if (const auto number = number_in(value)) numbers.push_back(*number);
  }
  if (numbers.size() == values.size()) return places_of_numbers(numbers, is_drawn_as_log);
  std::vector<std::string> names;
  for (const std::string& value : values) {
    if (std::ranges::find(names, value) == names.end()) names.push_back(value);
  }
  const auto share_of = [&](std::size_t index) {
    return (static_cast<double>(index) + 0.5) / static_cast<double>(names.size());
  };
  Places places;
  for (const std::string& value : values)
    places.shares.push_back(
        share_of(static_cast<std::size_t>(std::ranges::find(names, value) - names.begin())));
  for (std::size_t i = 0; i < names.size(); ++i) places.ticks.push_back({share_of(i), names[i]});
  return places;
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view content) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escaped(content));
}

std::string draw(const Axes& axes, const std::vector<Point>& points, int top) {
  const int width = kWidth - kLeft - kRight, height = kHeight - kTop - kBottom;
  const int bottom = top + kTop + height;
  double low = points.front().metric, high = low;
  for (const Point& point : points) {
    low = std::min(low, point.metric);
    high = std::max(high, point.metric);
  }
  const Scale scale(low, high, /*is_log=*/false);
  std::string svg = text_at(kLeft, top + kTop - 16, "start", axes.title) +
                    text_at(kLeft - 8, top + kTop + 5, "end", fmt::format("{:.4g}", high)) +
                    text_at(kLeft - 8, bottom, "end", fmt::format("{:.4g}", low));
  for (const Tick& tick : axes.ticks)
    svg += text_at(kLeft + width * tick.share, bottom + 20, "middle", tick.text);
  svg += fmt::format("<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"#888\"/>\n", kLeft,
                     top + kTop, bottom, kWidth - kRight);
  for (const Point& point : points)
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\" fill-opacity=\"{:.2f}\">"
        "<title>{}</title></circle>\n",
        kLeft + width * point.share, bottom - height * scale.share(point.metric),
        point.is_best ? "#c0392b" : "#1660b8", point.opacity, escaped(point.label));
  return svg;
}

/// Those of the trials that are done, without their places.
std::vector<Point> points_of(const Sweep& sweep, const std::vector<std::size_t>& order) {
  std::vector<Point> points;
  const auto num_rungs = static_cast<double>(sweep.rungs.size());
  for (const std::size_t i : order) {
    const TrialRecord& record = sweep.records[i];
    const double height = static_cast<double>(record.metrics.size()) / num_rungs;
    points.push_back({.share = 0.5,
                      .metric = record.metrics.back(),
                      .opacity = 0.25 + 0.75 * height,
                      .is_best = i == order.front(),
                      .label = fmt::format("trial {}: {:.4g} ({})", sweep.trials[i].number,
                                           record.metrics.back(), describe(sweep.trials[i]))});
  }
  return points;
}

/// Values of one key for each of these trials.
std::vector<std::string> values_of(const Sweep& sweep, const std::vector<std::size_t>& order,
                                   std::size_t key) {
  std::vector<std::string> values;
  values.reserve(order.size());
  for (const std::size_t i : order) values.push_back(sweep.trials[i].settings[key].value);
  return values;
}

std::string chart(const Sweep& sweep, const std::vector<std::size_t>& order,
                  const std::string& over, const Places& places, int number) {
  std::vector<Point> points = points_of(sweep, order);
  for (std::size_t i = 0; i < points.size(); ++i) points[i].share = places.shares[i];
  std::ranges::reverse(points);  // the best lies on top
  return draw({fmt::format("{} over {}", sweep.goal->metric, over), places.ticks}, points,
              number * kHeight);
}

}  // namespace

std::string sweep_svg(const Sweep& sweep, const SearchSpace& space) {
  const std::vector<std::size_t> order = ranking(sweep);
  std::string charts;
  int count = 0;
  if (!order.empty() && sweep.goal) {
    std::vector<double> numbers;
    numbers.reserve(order.size());
    for (const std::size_t i : order) numbers.push_back(sweep.trials[i].number);
    charts += chart(sweep, order, "trial", places_of_numbers(numbers, /*is_drawn_as_log=*/false),
                    count++);
    for (std::size_t key = 0; key < sweep.trials.front().settings.size(); ++key) {
      const bool is_log = key < space.axes.size() && space.axes[key].kind == AxisKind::kLog;
      charts += chart(sweep, order, sweep.trials.front().settings[key].key,
                      places_of(values_of(sweep, order, key), is_log), count++);
    }
  }
  const int height = kHeight * std::max(1, count);
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 "
             "{0} {1}\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{0}\" "
             "height=\"{1}\" fill=\"white\"/>\n",
             kWidth, height) +
         charts + "</svg>\n";
}

}  // namespace paceline::launcher
