#pragma once

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/recipe.h"
#include "paceline/checkpoint/manifest.h"

#include <string>

#include <nlohmann/json.hpp>

namespace paceline::app {

/// The config.json by which timm.create_model("local-dir:FOLDER") knows a model, and
/// read_exported_model() what timm has no words for.
struct TimmConfig {
  nlohmann::ordered_json json;
  /// Why timm does not build this model by it; empty if it does.
  std::string problem;
};

/// Of the model that a checkpoint's recipe trains: architecture, classes and how images are
/// prepared in evaluations. Throws ConfigError.
TimmConfig timm_config(const Recipe& recipe, const checkpoint::Manifest& manifest,
                       const Registries& registries);

}  // namespace paceline::app
