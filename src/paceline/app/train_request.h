#pragma once

#include "paceline/optim/lr_find/lr_rules.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace paceline::app {

/// How a learning rate is to be found before training.
struct LrFindChoice {
  optim::LrRange range;
  optim::LrRule rule = optim::LrRule::kValley;
};

/// What `paceline train` is asked to do.
struct TrainRequest {
  std::filesystem::path recipe;
  std::vector<std::string> overrides;
  std::vector<std::string> overrides_on_top;  ///< of a program that starts runs
  std::optional<std::string> only_phase;      ///< trained without the others; empty: the first
  std::optional<std::filesystem::path> run_directory;
  std::optional<std::string> resume;  ///< "auto", or a run or checkpoint
  /// Of the recipe's phases the one to begin with, by number or name, from the weights of `resume`;
  /// empty: the first, or the one that is gone on with.
  std::optional<std::string> start_phase;
  bool is_dry_run = false;       ///< build everything, train nothing
  bool is_fast_dev_run = false;  ///< a few steps of everything, in a scratch directory
  int fast_dev_steps = 2;
  std::optional<LrFindChoice> lr_find;  ///< optimizer.lr is found first
};

}  // namespace paceline::app
