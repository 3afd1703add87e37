#pragma once

#include "paceline/app/recipe/guide_json/guide_recipe.h"
#include "paceline/config/load.h"
#include "paceline/config/problems.h"

#include <filesystem>

namespace paceline::app {

/// config::load_recipe() that also takes a guide's document, in JSON with // comments. Throws
/// ConfigError for a file that cannot be parsed; all else goes to `problems`.
WrittenRecipe read_recipe(const std::filesystem::path& path, const config::Overrides& overrides,
                          config::Problems& problems);

}  // namespace paceline::app
