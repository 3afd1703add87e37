#pragma once

#include "paceline/app/recipe/recipe.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace paceline::app {

/// The overrides that make each rank's batch so large: no accumulation, data.batch_size_per_rank in
/// place of a global batch.
std::vector<std::string> largest_batch_keys(const Recipe& recipe, std::int64_t samples_per_rank);

/// The fewest microbatches of at most `most` samples in which a rank takes its share of the global
/// batch, each of a size that `fits`; nothing if none does.
std::optional<int> fewest_microbatches(std::int64_t share, std::int64_t most,
                                       const std::function<bool(std::int64_t microbatch)>& fits);

/// The overrides by which the learning rate of a recipe without train.lr_scaling follows from its
/// own global batch to another: in proportion under sgd and lars, as the root under optimizers that
/// divide by the size of gradients. Empty where the batch is the same, or scaling is there already.
std::vector<std::string> lr_scaling_keys(const Recipe& recipe, std::int64_t own_global_batch,
                                         std::int64_t found_global_batch);

/// `overrides` without those whose keys `keys` set, then `keys`.
std::vector<std::string> overrides_with(const std::vector<std::string>& overrides,
                                        const std::vector<std::string>& keys);

}  // namespace paceline::app
