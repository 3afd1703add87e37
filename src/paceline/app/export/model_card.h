#pragma once

#include "paceline/app/export/timm_config.h"
#include "paceline/app/recipe/recipe.h"
#include "paceline/checkpoint/manifest.h"

#include <string>

namespace paceline::app {

/// The README.md of a model on the Hugging Face Hub, from the facts of its run: what it is, how it
/// is loaded, how images are prepared, what it was trained on and by which recipe. `weights` names
/// the algorithm whose weights they are; empty: the trained ones.
std::string model_card(const Recipe& recipe, const checkpoint::Manifest& manifest,
                       const TimmConfig& config, const std::string& weights);

}  // namespace paceline::app
