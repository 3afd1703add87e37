#include "paceline/launcher/sweep/halving.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace paceline::launcher {
namespace {

/// How often the shortest can be multiplied, so that rounding does not cost a rung.
int num_promotions(double ratio, int factor) {
  constexpr double kRounding = 1e-9;
  int count = 0;
  for (double length = factor; length <= ratio * (1 + kRounding); length *= factor) ++count;
  return count;
}

}  // namespace

CountedDuration CountedDuration::parse(std::string_view option, std::string_view text) {
  CountedDuration duration;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), duration.count);
  duration.unit = std::string(parsed.ptr, text.data() + text.size());
  const bool is_counted = duration.unit == "ep" || duration.unit == "ba";
  constexpr double kMost = 1e12;
  if (parsed.ec != std::errc() || !is_counted || duration.count < 1 || duration.count > kMost ||
      duration.count != std::floor(duration.count))
    throw base::ConfigError(fmt::format(
        "{} wants whole epochs or steps, as in 1ep or 500ba, but it is \"{}\"", option, text));
  return duration;
}

std::string CountedDuration::to_string() const { return fmt::format("{}{}", count, unit); }

std::vector<Rung> halving_rungs(int num_trials, const CountedDuration& shortest,
                                const CountedDuration& longest, int reduction_factor) {
  if (shortest.unit != longest.unit)
    throw base::ConfigError(
        fmt::format("--min-duration {} and --max-duration {} are counted in different units: write "
                    "both in one",
                    shortest.to_string(), longest.to_string()));
  if (shortest.count > longest.count)
    throw base::ConfigError(fmt::format("--min-duration {} is longer than --max-duration {}",
                                        shortest.to_string(), longest.to_string()));
  const int last = num_promotions(longest.count / shortest.count, reduction_factor);
  std::vector<Rung> rungs;
  double length = shortest.count;
  double before = 0;
  int count = num_trials;
  for (int i = 0; i <= last; ++i) {
    if (i == last) length = longest.count;
    rungs.push_back({.duration = CountedDuration{length, shortest.unit}.to_string(),
                     .work = (length - before) / longest.count,
                     .num_trials = std::max(1, count)});
    before = length;
    length *= reduction_factor;
    count /= reduction_factor;
  }
  return rungs;
}

std::vector<std::size_t> best_of(std::span<const std::optional<double>> metrics, std::size_t count,
                                 bool is_less_better) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i]) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](std::size_t left, std::size_t right) {
    return is_less_better ? *metrics[left] < *metrics[right] : *metrics[left] > *metrics[right];
  });
  order.resize(std::min(order.size(), count));
  return order;
}

}  // namespace paceline::launcher
