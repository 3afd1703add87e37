#pragma once

#include "paceline/launcher/sweep/halving.h"
#include "paceline/launcher/sweep/recipe_facts.h"

#include <cstddef>
#include <string>
#include <vector>

namespace paceline::launcher {

/// What lies over a trial's recipe on a rung, as overrides. The run is as long as the longest from
/// the start, so that all that depends on its length is; on the rungs before the last it is stopped
/// early. Evaluations lie at all rungs, and every stop saves. Nothing without halving, where the
/// only rung has no duration.
std::vector<std::string> rung_settings(const std::vector<Rung>& rungs, std::size_t rung,
                                       const RecipeFacts& facts);

}  // namespace paceline::launcher
