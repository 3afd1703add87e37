#pragma once

#include "paceline/train/batch/batch.h"
#include "paceline/train/engine.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <vector>

namespace paceline::train {

/// The microbatches of the state's batch as all passes of the step see them: cut by split(), then
/// changed by the algorithms that transform batches. Batch::global_size is what these leave of the
/// samples of all ranks. Every rank must call it; throws what Engine::transform() throws.
std::vector<Batch> make_microbatches(TrainState& state, const RunContext& run, const Engine& engine,
                                     int num_microbatches);

}  // namespace paceline::train
