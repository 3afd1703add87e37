#pragma once

#include "paceline/app/recipe/phases.h"
#include "paceline/app/run_directory/run_directory.h"
#include "paceline/app/session.h"
#include "paceline/app/train_request.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::app {

/// A recipe with what was written and every value resolved. model.num_classes follows the data set
/// unless it was written; train.precision: auto becomes what this machine is fast at.
struct LoadedRecipe {
  Recipe recipe;
  config::Node resolved;
  config::Node without_paths;  ///< the same, but for paths, which may differ from node to node
  std::unique_ptr<data::Dataset> train_set;  ///< where the classes were counted, else null
  std::vector<std::string> notes;            ///< what was chosen for the user, and why
};

/// `interruption` is as in open_dataset(). Throws ConfigError, DataError, Interrupted.
LoadedRecipe load_recipe(config::Loaded<Recipe> loaded, const Registries& registries,
                         int world_size, at::DeviceType device = at::kCPU,
                         const base::Interruption* interruption = nullptr);

/// Of a file: the recipe, or the first of its phases.
LoadedRecipe load_recipe(const std::filesystem::path& path, const config::Overrides& overrides,
                         const Registries& registries, int world_size);

/// Of a request of `verb` ("lr-find"), which works on one phase: the recipe without phases, or the
/// phase that is asked for. Throws ConfigError for a recipe with phases, which says `why` one has
/// to be named.
PhasedRecipe load_single_phase(const TrainRequest& request, const config::BindContext& context,
                               std::string_view verb, std::string_view why);

/// Throws unless every rank's program and recipe are the same: they would train different models,
/// and before that ask for different collectives. Every rank must call it.
void agree_on_recipe(const LoadedRecipe& loaded, comm::Communicator& communicator);

/// What is trained as one: a phase of a run, or a run that has none.
struct PhaseJob {
  LoadedRecipe loaded;
  RunPlace place = {};
  std::optional<std::string> resume = {};  ///< "auto", or a run or checkpoint
  std::filesystem::path run = {};          ///< what --run-dir names; empty: the place itself
  /// What a phase before trains has a value when it is trained, if not where it is planned or
  /// measured alone.
  bool stands_on_phases = false;
  /// Called on rank 0 when all ranks have accepted recipe and data, before anything is written.
  std::function<void()> begins = {};
};

/// Where a recipe's run lies; `directory`: --run-dir.
RunPlace place_of(const Recipe& recipe, const std::optional<std::filesystem::path>& directory,
                  bool is_scratch);

/// Trains it; every rank must call it. Returns the process's exit code. Throws base::Error.
int run_phase(PhaseJob job, const TrainRequest& request, const SessionContext& context);

}  // namespace paceline::app
