#pragma once

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/recipe.h"
#include "paceline/config/node.h"
#include "paceline/config/reference/explain.h"

namespace paceline::app {

/// What a run on this machine takes for keys that the recipe leaves open, with the source: "from
/// the data", "from the task". `written` is what the recipe says.
config::DerivedValues derived_values(const Recipe& recipe, const config::Node& written,
                                     const Registries& registries);

/// Puts them behind the values of a resolved recipe, for to_yaml(). A key whose value the data have
/// not told yet goes away, and its section's name says so.
void comment_derived(const config::DerivedValues& derived, bool knows_data, config::Node& resolved);

}  // namespace paceline::app
