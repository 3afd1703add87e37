#pragma once

#include "paceline/app/recipe/recipe.h"
#include "paceline/nn/pass_memory/shaped_pass.h"

#include <cstdint>

namespace paceline::app {

/// What a train::ShapedTask is asked for the memory of a microbatch of so many samples of a recipe,
/// the precision of which is resolved, on a GPU or the CPU.
nn::PassOptions pass_options(const Recipe& recipe, std::int64_t samples, bool is_on_gpu);

}  // namespace paceline::app
