#pragma once

#include "paceline/tensor/state_shard.h"
#include "paceline/train/engine.h"
#include "paceline/train/train_state.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace paceline::train {

/// The tensors of model and optimizer as this rank holds them.
std::vector<tensor::StateShard> state_shards(const TrainState& state);
/// All tensors of a run: those and the algorithms'.
std::vector<tensor::StateShard> state_shards(const TrainState& state, const Engine& engine);

/// Those of them that a checkpoint of state_dict() `saved` has: an algorithm that comes with this
/// start of the run has none there.
std::vector<tensor::StateShard> saved_shards(const TrainState& state, const Engine& engine,
                                             const nlohmann::json& saved);

/// All else that a run must remember: clock, optimizer steps, loss scale, newest evaluation,
/// algorithms, callbacks.
nlohmann::json state_dict(const TrainState& state, const Engine& engine);

/// Throws CheckpointError unless what state_dict() gave has the state of all algorithms of this
/// run.
void check_algorithms(const nlohmann::json& saved, const Engine& engine);

/// The global batch by which what state_dict() gave counts its steps; nothing in a checkpoint of a
/// format version before 3.
std::optional<std::int64_t> samples_per_step(const nlohmann::json& saved);

/// Restores what state_dict() gave. Throws CheckpointError for a part that is missing.
void load_state_dict(const nlohmann::json& saved, TrainState& state, Engine& engine);

}  // namespace paceline::train
