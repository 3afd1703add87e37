#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::launcher {

/// How fast a run trains after its warm-up.
struct TrainingRate {
  double samples_per_s = 0;
  double samples_per_step = 0;
};

/// By the median of the steps in metrics.jsonl after `warm_up` steps. Throws ConfigError if the run
/// ended too soon for that.
TrainingRate training_rate(std::string_view metrics, int warm_up);

/// How many ranks there are, and where.
struct ScalingShape {
  int nodes = 1;
  int ranks_per_node = 1;

  int ranks() const { return nodes * ranks_per_node; }
  friend bool operator==(const ScalingShape&, const ScalingShape&) = default;
};

/// One number of ranks.
struct ScalingRow {
  ScalingShape shape;
  TrainingRate rate;
  /// The sum of so many processes of one rank, each for itself, that run at the same time: what the
  /// machines give without any communication.
  double ceiling_samples_per_s = 0;
};

/// "1,2,4": growing, each from 1 to `most`. Throws ConfigError that names `option`.
std::vector<int> parse_counts(std::string_view option, std::string_view text, int most);

/// The rows of a table: one machine fills up, then machines with the most ranks each are added.
std::vector<ScalingShape> scaling_shapes(std::span<const int> node_counts,
                                         std::span<const int> rank_counts);

/// A table, a line each; speed-up and efficiency are relative to the first row.
std::vector<std::string> scaling_table(std::span<const ScalingRow> rows);
/// One JSON object with the same.
std::string scaling_json(std::span<const ScalingRow> rows, const std::string& threads_per_rank);

}  // namespace paceline::launcher
