#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::launcher {

/// A length of training in whole epochs or steps, at whose multiples evaluations can lie: "3ep",
/// "500ba".
struct CountedDuration {
  double count = 0;
  std::string unit = {};

  /// Throws ConfigError that names `option`.
  static CountedDuration parse(std::string_view option, std::string_view text);
  std::string to_string() const;
};

/// One round of successive halving.
struct Rung {
  std::string duration = {};  ///< to which its trials train
  double work = 0;  ///< of a trial: the share of the longest duration since the rung before
  int num_trials = 0;
};

/// Successive halving as the inner loop of Hyperband: rung i has n / k^i trials, rounded down but
/// at least one, that train to k^i times the shortest duration, but on the last rung to the
/// longest. Papers: Jamieson and Talwalkar, "Non-stochastic best arm identification", AISTATS 2016;
/// Li et al., "Hyperband", JMLR 2018, algorithm 1. Throws ConfigError if the shortest is longer
/// than the longest or has another unit.
std::vector<Rung> halving_rungs(int num_trials, const CountedDuration& shortest,
                                const CountedDuration& longest, int reduction_factor);

/// Indices of the best `count` of those that have a metric, best first; of equals the first.
std::vector<std::size_t> best_of(std::span<const std::optional<double>> metrics, std::size_t count,
                                 bool is_less_better);

}  // namespace paceline::launcher
