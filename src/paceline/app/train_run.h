#pragma once

#include "paceline/app/session.h"
#include "paceline/config/load.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paceline::app {

/// What `paceline train` is asked to do.
struct TrainRequest {
  std::filesystem::path recipe;
  std::vector<std::string> overrides;
  std::vector<std::string> overrides_on_top;  ///< of a program that starts runs
  std::optional<std::filesystem::path> run_directory;
  std::optional<std::string> resume;  ///< "auto", or a run or checkpoint
  bool is_dry_run = false;            ///< build everything, train nothing
  bool is_fast_dev_run = false;       ///< a few steps of everything, in a scratch directory
  int fast_dev_steps = 2;
};

/// Runs it; every rank must call it. Returns the process's exit code. Throws base::Error.
int run_training(const TrainRequest& request, const SessionContext& context);

/// A recipe with what was written and every value resolved. model.num_classes follows the data set
/// unless it was written; train.precision: auto becomes what this machine is fast at.
/// `interruption` is as in open_dataset(). Throws ConfigError, DataError, Interrupted.
struct LoadedRecipe {
  Recipe recipe;
  config::Node resolved;
  config::Node without_paths;  ///< the same, but for paths, which may differ from node to node
  std::unique_ptr<data::Dataset> train_set;  ///< where the classes were counted, else null
  std::vector<std::string> notes;            ///< what was chosen for the user, and why
};
LoadedRecipe load_recipe(const std::filesystem::path& path, const config::Overrides& overrides,
                         const Registries& registries, int world_size,
                         at::DeviceType device = at::kCPU,
                         const base::Interruption* interruption = nullptr);

}  // namespace paceline::app
