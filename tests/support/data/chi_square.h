#pragma once

#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>

namespace paceline::data {

/// How far counts are from what these probabilities expect, in standard deviations of chi-square's
/// (by Wilson and Hilferty's cube root): above 4 by chance once in 30,000 times. Cells that nothing
/// may fall into have to be empty.
inline double chi_square_deviations(std::span<const int> counts, std::span<const double> expected) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  const double sum = std::accumulate(expected.begin(), expected.end(), 0.0);
  double statistic = 0;
  double freedom = -1;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double mean = expected[i] / sum * total;
    if (mean == 0 && counts[i] == 0) continue;
    statistic += (counts[i] - mean) * (counts[i] - mean) / mean;
    ++freedom;
  }
  const double variance = 2 / (9 * freedom);
  return (std::cbrt(statistic / freedom) - (1 - variance)) / std::sqrt(variance);
}

}  // namespace paceline::data
