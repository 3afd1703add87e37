#pragma once

#include "paceline/launcher/quiet_runs.h"

#include <filesystem>
#include <string>
#include <vector>

namespace paceline::launcher {

/// A short training of which only the time of its steps counts.
struct MeasuredRun {
  std::vector<std::string> recipe;  ///< and overrides
  std::string phase;                ///< of the recipe's; empty: the first
  int num_steps = 0;
  std::filesystem::path folder;  ///< its run directory; what it prints goes beside it
  std::vector<std::string> overrides_on_top = {};
  std::vector<std::string> launch_options = {};
};

/// Its start by this program. It saves nothing, evaluates one batch at the end, and leaves
/// metrics.jsonl.
QuietRun start_of(const MeasuredRun& run);

}  // namespace paceline::launcher
