#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::launcher {

/// Milliseconds that a step took in the four runs of a round, in their order: without what is
/// toggled, with it, with it, without it. A machine that gets slower or faster in a straight line
/// so favours neither.
struct ToggleRound {
  std::array<double, 4> ms{};

  double without() const { return (ms[0] + ms[3]) / 2; }
  double with() const { return (ms[1] + ms[2]) / 2; }
  double added() const { return with() - without(); }
};

/// Whether the toggle is on in that run of a round.
constexpr bool is_toggled(std::size_t run) { return run == 1 || run == 2; }

/// The mean over the steps in metrics.jsonl after `warm_up` steps: what acts in every so many-th
/// step alone counts, too. Throws ConfigError if the run ended too soon for that.
double mean_step_ms(std::string_view metrics, int warm_up);
/// The median instead, to which steps that something else slowed down do not matter: where all
/// steps do the same. Throws ConfigError likewise.
double median_step_ms(std::string_view metrics, int warm_up);

/// A line for each round and the medians over rounds with their range.
std::vector<std::string> toggle_table(std::span<const ToggleRound> rounds);
/// One JSON object with the same.
std::string toggle_json(std::span<const ToggleRound> rounds, const std::string& threads_per_rank);

}  // namespace paceline::launcher
