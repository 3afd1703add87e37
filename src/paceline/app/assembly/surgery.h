#pragma once

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/recipe.h"
#include "paceline/checkpoint/manifest.h"
#include "paceline/checkpoint/surgery.h"
#include "paceline/train/engine.h"

#include <filesystem>
#include <string>
#include <vector>

namespace paceline::app {

/// How what algorithms did to a network stays with its weights: a checkpoint records it, and
/// whoever reads the weights has the recorded algorithms do it again, whatever the recipe says.

/// What the engine's algorithms did to the network, with the options that the recipe gives them.
/// After kInit.
checkpoint::SurgeryRecord surgery_done(const train::Engine& engine, const Recipe& recipe);

/// Throws CheckpointError unless what was done is what the record in `source` tells, layer by
/// layer.
void check_surgery(const checkpoint::SurgeryRecord& done, const checkpoint::SurgeryRecord& record,
                   const std::filesystem::path& source);

/// Makes the network of a recipe that of a checkpoint: adds algorithms that it does not name.
/// Throws ConfigError where the recipe wants it changed otherwise, or leaves out what `saved`, the
/// recipe of the checkpoint, names. Does nothing with a checkpoint that has no record.
void rebuild_by_record(const checkpoint::Manifest& manifest, const std::filesystem::path& source,
                       const Registries& registries, const Recipe& saved, Recipe& recipe);

/// Likewise for the weights that model.pretrained names, if it names any; what the recipe does to
/// the network besides stays. Returns a note for each algorithm added.
std::vector<std::string> take_surgery_of_weights(const Registries& registries, Recipe& recipe);

}  // namespace paceline::app
