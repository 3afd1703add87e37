#pragma once

#include "paceline/checkpoint/listing.h"

#include <filesystem>
#include <optional>
#include <string>

namespace paceline::app {

/// The newest whole checkpoint of a folder; nothing if it holds none at all. Warns of damaged ones
/// that it passes over. Throws CheckpointError, also if all are damaged.
std::optional<std::filesystem::path> newest_checkpoint(
    const std::filesystem::path& folder,
    const checkpoint::DamageOf& damage = checkpoint::damage_of);

/// The checkpoint that a user's words stand for: the path of a checkpoint itself, or RUN or
/// RUN@last, the newest_checkpoint() of a run directory (also of a run with a checkpoint.dir) or of
/// a folder of checkpoints; RUN@best, the best whole one by the run's checkpoint.monitor;
/// RUN@step-N. A run of phases stands for the newest phase that has saved; RUN/stage2_best.pt, as
/// phase_of_guide_name() has it, for the best of its stage. Throws CheckpointError, which names
/// those that there are.
std::filesystem::path find_checkpoint(const std::filesystem::path& named);

/// What model.pretrained stands for: a file of weights, as which a folder of the Hugging Face Hub
/// counts, too, or what find_checkpoint() finds. Throws ConfigError for what is neither.
std::filesystem::path locate_weights(const std::string& named);
/// The same; a checkpoint is verified.
std::filesystem::path find_weights(const std::string& named);

}  // namespace paceline::app
