#pragma once

#include "paceline/config/node.h"
#include "paceline/config/problems.h"

#include <string>
#include <vector>

namespace paceline::app {

/// A recipe as it was written, and what people should know of how it was read.
struct WrittenRecipe {
  config::Node node;
  std::vector<std::string> notes = {};
};

/// Whether a document is one of the guide to hybrid ViT cascades (X-rays to CT volumes), of either
/// of its schemas: it lists `stage_configs` or `stages`.
bool is_guide_document(const config::Node& document);

/// The recipe that such a document means: a phase for each stage, in which this stage is trained.
/// What it cannot mean goes to `problems`, every key that has no meaning here among it.
WrittenRecipe guide_recipe(const config::Node& document, config::Problems& problems);

}  // namespace paceline::app
