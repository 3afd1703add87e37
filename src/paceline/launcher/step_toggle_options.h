#pragma once

#include <string>
#include <vector>

namespace paceline::launcher {

/// What `paceline bench step` takes.
struct StepToggleOptions {
  std::vector<std::string> recipe;   ///< and overrides
  std::vector<std::string> toggles;  ///< overrides that half of the runs have besides
  std::string phase;                 ///< of the recipe's; empty: the first
  int nproc = 1;
  int rounds = 3;
  int steps = 20;
  int warm_up = 5;
  bool takes_median = false;  ///< over the steps of a run, not the mean
  bool as_json = false;
};

/// Of the arguments after `bench step`. Throws ConfigError.
StepToggleOptions parse_step_toggle_options(const std::vector<std::string>& arguments);

/// What --help prints of it.
extern const char* const kStepToggleHelp;

}  // namespace paceline::launcher
