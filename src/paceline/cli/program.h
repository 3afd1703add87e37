#pragma once

#include "paceline/app/recipe/builtin.h"

#include <functional>

namespace paceline::cli {

/// Adds components to those that come with paceline. May throw ConfigError.
using AddComponents = std::function<void(app::Registries& registries)>;

/// All that paceline-rank is: one process of `train` and `eval`, and every other verb but the
/// launcher's, with recipes that can name what `add` adds, too. A program of its own calls it from
/// main() and is started as `paceline launch -- PROGRAM train RECIPE` or, for one rank, by itself.
/// Returns the exit code, or ends the process with it, when errors have been told.
int run_program(int argc, char** argv, const AddComponents& add = {});

}  // namespace paceline::cli
