#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace paceline::launcher {

/// What a detached run is made of.
struct DetachedRun {
  std::filesystem::path run_dir;
  std::vector<std::string> command;  ///< as the record shows it, to whoever may read that
  std::string host;
  int node_rank = 0;
  int num_ranks = 1;  ///< of this machine
};

/// Runs the ranks, each of which tells its first step to this descriptor (launch/first_step.h);
/// returns the exit code.
using RunRanks = std::function<int(int first_step_descriptor)>;

/// Calls `run_ranks` in a background process without a terminal, whose output goes to launcher.log
/// in the run directory and whose identity and exit code to launcher.json, and waits as
/// await_first_step() has it, whose exit code it returns. Throws ConfigError if a live run uses the
/// directory, CheckpointError if it cannot be written.
int run_detached(const DetachedRun& run, const RunRanks& run_ranks);

}  // namespace paceline::launcher
