#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace paceline::metrics {

/// A sample's score for a class, and whether it is of it.
struct Scored {
  double score = 0;
  bool is_positive = false;
};

/// Of samples in the order of their scores, the highest first: NaN where there is nothing to tell.
struct RankingScores {
  /// The area under the receiver operating characteristic: how often a sample of the class scores
  /// higher than another, where equal scores count half. NaN unless there are both.
  double auroc = 0;
  /// The mean of the precision at each threshold, by the recall that it adds, as
  /// sklearn.metrics.average_precision_score. NaN unless there are samples of the class.
  double average_precision = 0;
};

/// Exact, and the same whatever the order of the samples, which it changes.
RankingScores rank(std::span<Scored> samples);

/// The value below which `percent` of the values lie, between two of them in proportion, as
/// numpy.percentile does. Values are sorted; NaN if there are none.
double percentile(std::span<const double> sorted, double percent);

}  // namespace paceline::metrics
