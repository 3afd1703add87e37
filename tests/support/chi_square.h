#pragma once

#include <numeric>
#include <vector>

namespace paceline::test {

/// Of counts in bins that should be equally full. Draws that are as they should be give more than
/// 10.8 (1 degree of freedom), 43.8 (19), 49.7 (23), 99.6 (60) or 149.4 (99) once in a thousand.
inline double chi_square(const std::vector<int>& counts) {
  const double wanted =
      std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(counts.size());
  double sum = 0;
  for (const int count : counts) sum += (count - wanted) * (count - wanted) / wanted;
  return sum;
}

}  // namespace paceline::test
