#pragma once

#include "paceline/app/recipe/phases.h"
#include "paceline/app/session.h"
#include "paceline/app/train_request.h"

#include <filesystem>
#include <optional>

namespace paceline::app {

/// Trains the phases of a recipe one after the other, each as a run in a folder of its own
/// (run_directory/phase_folders.h) that starts from the weights of the one before; what
/// TrainRequest::resume names decides where it goes on. `directory`: --run-dir. Every rank must
/// call it. Returns the process's exit code: not 0 if a phase was stopped by a signal. Throws
/// base::Error, before the first phase for whatever is wrong with any of the recipes.
int run_phases(const PhasedRecipe& recipe, const std::optional<std::filesystem::path>& directory,
               const TrainRequest& request, const SessionContext& context);

}  // namespace paceline::app
