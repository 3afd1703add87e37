#pragma once

#include "paceline/launcher/sweep/sweep_state.h"

#include <string>
#include <vector>

namespace paceline::launcher::test {

inline SearchSpace space_of(const std::vector<std::string>& overrides) {
  return parse_search_space(overrides);
}

/// A grid over two keys, before any of its trials.
inline Sweep small_grid() {
  Sweep sweep{.plan = {{"strategy", "grid"}, {"optimizer.lr", "0.1,0.2"}},
              .goal = MetricGoal{.metric = "val/top1"}};
  sweep.trials = grid_trials(space_of({"optimizer.lr=0.1,0.2", "model=vit,resnet18"}));
  sweep.rungs = {{.duration = "", .work = 1, .num_trials = 4}};
  sweep.records.resize(4);
  return sweep;
}

/// Nine trials that train to 1, 3 and 9 epochs.
inline Sweep small_halving() {
  Sweep sweep{.strategy = Strategy::kHalving, .goal = MetricGoal{.metric = "val/top1"}};
  sweep.trials = grid_trials(space_of({"optimizer.lr=1,2,3,4,5,6,7,8,9"}));
  sweep.rungs = halving_rungs(9, {1, "ep"}, {9, "ep"}, 3);
  sweep.records.resize(9);
  return sweep;
}

inline TrialRecord done_with(std::vector<double> metrics) {
  return {.metrics = std::move(metrics), .step_ms = 2.5, .elapsed_s = 12};
}

inline TrialRecord failed_with(int exit_code, std::vector<double> metrics = {}) {
  return {.metrics = std::move(metrics),
          .step_ms = std::nullopt,
          .has_failed = true,
          .exit_code = exit_code,
          .error = "the loss, \"it\" is not finite"};
}

}  // namespace paceline::launcher::test
