#pragma once

#include "paceline/app/recipe/recipe.h"
#include "paceline/comm/communicator.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/nn/network.h"
#include "paceline/parallel/strategy.h"
#include "paceline/tensor/fwd.h"

#include <cstdint>

namespace paceline::app {

struct Registries;  // app/recipe/builtin.h

/// The first images of a training set as evaluations prepare them, float32 [N, 3, H, W]: `count`,
/// or as many as there are. Throws DataError for one that cannot be read, unless the recipe skips
/// such, and if none can; ConfigError for data that are no images.
at::Tensor first_images(const data::Dataset& train_set, const Recipe& recipe,
                        const Registries& registries, std::int64_t count);

/// `fill`, but for the parameters that start from training images
/// (nn::ImageNetwork::values_of_images()), which rank 0 reads; `fill` itself for other networks,
/// and with model.pretrained. Every rank must call it. Throws as first_images(), on all ranks.
parallel::FillValues with_values_of_images(parallel::FillValues fill, const nn::Network& network,
                                           const data::Dataset& train_set, const Recipe& recipe,
                                           const Registries& registries,
                                           comm::Communicator& communicator);

}  // namespace paceline::app
