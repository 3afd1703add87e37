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
};

/// A folder name under `parent` that does not exist yet: NAME-YYYYmmdd-HHMMSS, with a number if
/// taken.
std::filesystem::path unused_run_dir(const std::filesystem::path& parent, const std::string& name);

/// Calls `run_ranks` in a background process without a terminal, whose output goes to launcher.log
/// in the run directory and whose identity and exit code to launcher.json; prints how to follow and
/// stop it, and returns 0. Throws ConfigError if a live run uses the directory, CheckpointError if
/// it cannot be written.
int run_detached(const DetachedRun& run, const std::function<int()>& run_ranks);

}  // namespace paceline::launcher
