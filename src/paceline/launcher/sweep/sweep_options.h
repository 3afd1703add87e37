#pragma once

#include "paceline/launcher/sweep/search_space.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace paceline::launcher {

enum class Strategy { kGrid, kRandom, kHalving, kAblation };

std::string name_of(Strategy strategy);

/// What `paceline sweep` takes.
struct SweepOptions {
  std::string recipe = {};
  SearchSpace space = {};
  Strategy strategy = Strategy::kGrid;
  int num_trials = 0;  ///< that are drawn; 0: a grid of all values
  std::uint64_t seed = 0;
  std::optional<std::string> metric = {};
  std::optional<bool> is_less_better = {};  ///< --mode
  int num_jobs = 1;
  std::optional<std::filesystem::path> folder = {};
  int reduction_factor = 3;
  std::string min_duration = {};
  std::string max_duration = {};          ///< empty: the recipe's
  std::vector<std::string> ablated = {};  ///< what --ablate names
  int num_seeds = 3;
  bool retries_failed = false;
  std::vector<std::string> launch_options = {};  ///< of each trial
  int num_ranks = 1;                             ///< of each trial; 0: one for each GPU
  std::optional<double> grace_seconds = {};
};

/// Of the arguments after the verb. Throws ConfigError.
SweepOptions parse_sweep_options(const std::vector<std::string>& arguments);

/// What --help prints below the usage.
extern const char* const kSweepHelp;

}  // namespace paceline::launcher
