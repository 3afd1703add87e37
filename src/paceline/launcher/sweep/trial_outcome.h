#pragma once

#include "paceline/launcher/sweep/recipe_facts.h"
#include "paceline/launcher/sweep/sweep_state.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::launcher {

/// What a run's summary.json says, of phases that of the last.
struct TrialOutcome {
  bool is_complete = false;                    ///< not ended by a signal, and all phases are there
  std::map<std::string, double> metrics = {};  ///< of the last evaluation
  double elapsed_s = 0;                        ///< of training, over all starts
  std::optional<double> step_ms = {};  ///< of the last start, without evaluations; if it did steps
};

/// Throws DataError for text that is no summary.
TrialOutcome read_outcome(std::string_view summary, int num_phases);

/// Of the run in a folder; nothing if it left no summary.json.
std::optional<TrialOutcome> outcome_of(const std::filesystem::path& run, int num_phases);

/// Writes down how a trial ended; one without the metric has failed.
void take_outcome(const TrialOutcome& outcome, const MetricGoal& goal, TrialRecord& record);

/// checkpoint.monitor and mode as the run's config.yaml has them, which names them even where the
/// recipe leaves them to the task.
MetricGoal goal_of_run(const std::filesystem::path& run);

}  // namespace paceline::launcher
