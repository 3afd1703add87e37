#include "paceline/algorithms/mixing/draws.h"

#include <algorithm>
#include <cmath>

namespace paceline::algorithms {
namespace {

/// In (0, 1].
double positive_uniform(base::Philox& draws) { return 1.0 - draws.uniform(); }

/// Jöhnk's. The logarithms keep ratios of numbers that are too small to be had.
double draw_small_beta(double alpha, base::Philox& draws) {
  while (true) {
    const double x = std::log(positive_uniform(draws)) / alpha;
    const double y = std::log(positive_uniform(draws)) / alpha;
    if (std::exp(x) + std::exp(y) > 1) continue;
    return 1.0 / (1.0 + std::exp(y - x));
  }
}

/// Marsaglia's and Tsang's, for shapes of at least 1.
double draw_gamma(double shape, base::Philox& draws) {
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = draws.normal();
    const double root = 1.0 + c * x;
    const double u = positive_uniform(draws);
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace

double draw_beta(double alpha, base::Philox& draws) {
  if (alpha <= 1) return draw_small_beta(alpha, draws);
  const double first = draw_gamma(alpha, draws);
  return first / (first + draw_gamma(alpha, draws));
}

std::vector<std::int64_t> draw_partners(Partner partner, const SampleGroup& group,
                                        base::Philox& draws) {
  std::vector<std::int64_t> rows = rows_of(group);
  switch (partner) {
    case Partner::kPermutation:
      base::shuffle(rows, draws);
      break;
    case Partner::kReversed:
      std::reverse(rows.begin(), rows.end());
      break;
    case Partner::kRolled:
      std::rotate(rows.begin(), rows.end() - 1, rows.end());
      break;
  }
  return rows;
}

}  // namespace paceline::algorithms
