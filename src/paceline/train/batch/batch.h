#pragma once

#include "paceline/data/loader/loader.h"
#include "paceline/tensor/aten.h"

#include <cstdint>
#include <memory>
#include <string>
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
  std::vector<std::string> skipped;   ///< of a whole share: as HostBatch::skipped
};

/// Wraps the loader's memory as tensors without copying; the batch owns it. Of a loader that gives
/// bytes, inputs are uint8 (see ByteImages).
Batch wrap(std::unique_ptr<data::HostBatch> host);

/// Consecutive parts, at most `num_microbatches` and as many on each of the `world_size` ranks,
/// which have equal shares of the global batch or one sample less. All but the last part have the
/// same size on every rank; the last may be smaller, or empty.
std::vector<Batch> split(const Batch& batch, int num_microbatches, int world_size);

}  // namespace paceline::train
