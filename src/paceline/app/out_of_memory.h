#pragma once

#include "paceline/app/memory_estimate.h"

#include <functional>

namespace paceline::app {

/// Does `work`. If memory runs out in it, on the CPU or a GPU, throws ConfigError once all that it
/// held is freed: what the recipe needs by prediction, and which settings need no more than this
/// process had got. Any other failure passes.
int run_within_memory(const Recipe& recipe, const Registries& registries, int world_size,
                      int ranks_per_node, const std::function<int()>& work);

}  // namespace paceline::app
