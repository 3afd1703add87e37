#pragma once

#include "paceline/app/recipe/recipe.h"
#include "paceline/cli/command_line.h"

#include <cstdint>
#include <optional>

namespace paceline::cli {

/// How many volumes are drawn of a patient, and by how many steps; nothing: by the recipe.
struct VolumeDraws {
  std::optional<std::int64_t> samples = {};
  std::optional<std::int64_t> steps = {};
};

/// Adds --samples and --steps.
void add_options(CLI::App& app, VolumeDraws& draws);

/// Changes the recipe by them. Throws ConfigError for a task that draws no volumes.
void apply(const VolumeDraws& draws, app::Recipe& recipe);

}  // namespace paceline::cli
