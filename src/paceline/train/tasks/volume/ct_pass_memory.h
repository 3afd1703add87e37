#pragma once

#include "paceline/nn/volume/cascade_network.h"
#include "paceline/train/shaped_task.h"

#include <cstdint>
#include <optional>

namespace paceline::train {

/// ShapedTask::pass_bytes() of CtDiffusion's training of the network's current stage, with a
/// projection loss or without.
std::int64_t ct_pass_bytes(const nn::CascadeNetwork& network, bool has_physics,
                           const nn::PassOptions& options);

/// What the multi-GPU guide of a cascade on four A100s says of volumes of that side, if it does.
/// Its own "more than 10 samples a second and GPU" contradicts the times that it lists, which are
/// these.
std::optional<PublishedTraining> guide_of_volumes(std::int64_t side);

}  // namespace paceline::train
