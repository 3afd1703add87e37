#pragma once

#include "paceline/launcher/sweep/sweep_options.h"

#include <string>

namespace paceline::launcher {

/// Trains the trials that are not done yet, and tells of all of them: a table on standard output,
/// progress on standard error, files in the sweep's folder. `program` is this one. Returns 0, or 1
/// if a trial failed. Throws ConfigError, or the error of a trial if the recipe is wrong for all;
/// CheckpointError if another process holds the folder; an Error with exit code 128 + signal if one
/// came, when the trials have saved and ended.
int run_sweep(const SweepOptions& options, const std::string& program);

}  // namespace paceline::launcher
