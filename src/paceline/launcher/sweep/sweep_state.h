#pragma once

#include "paceline/config/node.h"
#include "paceline/launcher/sweep/ablation.h"
#include "paceline/launcher/sweep/halving.h"
#include "paceline/launcher/sweep/recipe_facts.h"
#include "paceline/launcher/sweep/sweep_options.h"
#include "paceline/launcher/sweep/trials.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace paceline::launcher {

/// What is known of a trial that ended, for good or on a rung.
struct TrialRecord {
  std::vector<double> metrics = {};    ///< the one that is compared, after each rung
  std::optional<double> step_ms = {};  ///< without evaluations
  double elapsed_s = 0;                ///< of training, over all starts
  bool has_failed = false;
  int exit_code = 0;
  std::string error = {};  ///< one line

  bool is_done() const { return !has_failed && !metrics.empty(); }
  bool operator==(const TrialRecord&) const = default;
};

/// A sweep: what it was asked for and how far it is.
struct Sweep {
  Strategy strategy = Strategy::kGrid;
  std::vector<Setting> plan = {};  ///< what was asked for, in words: a sweep goes on with the same
  config::Node recipe = {};        ///< resolved, with the values of a first trial
  std::optional<MetricGoal> goal = {};  ///< unknown until a run has told the task's
  std::vector<Trial> trials = {};
  std::vector<Rung> rungs = {};  ///< one without halving
  std::vector<AblationPart> parts = {};
  std::vector<TrialRecord> records = {};  ///< one for each trial
};

/// Of its options, as they must stay.
std::vector<Setting> plan_of(const SweepOptions& options);

/// Throws ConfigError that names what differs; a number of drawn trials, or of seeds, may grow.
void require_same_plan(const std::vector<Setting>& before, const std::vector<Setting>& now,
                       Strategy strategy);

/// Indices of the trials that train to a rung: all on the first, then the best of the one before.
/// All of that must have ended.
std::vector<std::size_t> members_of_rung(const Sweep& sweep, std::size_t rung);

/// Indices of the trials that are done, best first: those of a higher rung come before others.
std::vector<std::size_t> ranking(const Sweep& sweep);

/// What was left out by the trials of an ablation.
std::vector<AblationRow> ablation_of(const Sweep& sweep);

/// "trials/0012", below the sweep's folder.
std::string folder_name(const Trial& trial);

/// sweep.json; the same sweep gives the same text.
std::string to_json(const Sweep& sweep);

/// What a sweep.json knows of the sweep that wrote it.
struct SavedSweep {
  std::vector<Setting> plan = {};
  config::Node recipe = {};
  std::optional<MetricGoal> goal = {};
  std::vector<TrialRecord> records = {};
};

/// Throws CheckpointError, with the path, for what is no sweep.json.
SavedSweep read_sweep(const std::string& text, const std::string& path);

}  // namespace paceline::launcher
