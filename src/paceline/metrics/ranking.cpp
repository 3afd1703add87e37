#include "paceline/metrics/ranking.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace paceline::metrics {

RankingScores rank(std::span<Scored> samples) {
  std::ranges::sort(samples, std::ranges::greater{}, &Scored::score);
  double positives = 0;
  double negatives = 0;
  double pairs = 0;      // of a positive and a negative that scores lower
  double precision = 0;  // summed over the positives
  for (auto first = samples.begin(); first != samples.end();) {
    double more = 0;
    double others = 0;
    const auto last = std::find_if(
        first, samples.end(), [&](const Scored& sample) { return sample.score != first->score; });
    for (; first != last; ++first) (first->is_positive ? more : others) += 1;
    pairs += others * (positives + more / 2);
    positives += more;
    negatives += others;
    precision += more * (positives / (positives + negatives));
  }
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const bool has_both = positives > 0 && negatives > 0;
  return {has_both ? pairs / (positives * negatives) : kNone,
          positives > 0 ? precision / positives : kNone};
}

double percentile(std::span<const double> sorted, double percent) {
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double place = percent / 100.0 * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

}  // namespace paceline::metrics
