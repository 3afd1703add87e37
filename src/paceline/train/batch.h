#pragma once

#include "paceline/data/loader.h"
#include "paceline/tensor/aten.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace paceline::train {

/// This rank's share of a global batch, or a microbatch of it.
struct Batch {
  at::Tensor inputs;   ///< [size, 3, height, width] float32, channels-last or contiguous
  at::Tensor targets;  ///< [size] int64 class indices
  std::int64_t size = 0;
  std::int64_t global_size = 0;       ///< samples of the whole global batch, over all ranks
  std::int64_t first_position = 0;    ///< global position of the first sample in the epoch's order
  std::vector<std::int64_t> indices;  ///< in the data set, for messages; one per sample
};

/// Wraps the loader's memory as tensors without copying; the batch owns it.
Batch wrap(std::unique_ptr<data::HostBatch> host);

/// At most `num_microbatches` consecutive parts of equal size; the last may be smaller. An empty
/// batch gives one empty part, because every rank takes part in every step.
std::vector<Batch> split(const Batch& batch, int num_microbatches);

}  // namespace paceline::train
