#include "paceline/train/microbatches.h"

namespace paceline::train {
namespace {

/// What algorithms leave of a whole global batch, counted without asking the other ranks.
std::int64_t num_kept(const Engine& engine, const Clock& clock, std::int64_t global_size,
                      int num_microbatches, int world_size) {
  const std::int64_t smallest_share = global_size / world_size;
  const auto kept_of = [&](std::int64_t share) {
    std::int64_t kept = 0;
    for (const std::int64_t size : split_sizes(share, global_size, num_microbatches, world_size))
      kept += engine.num_kept(size, clock);
    return kept;
  };
  const std::int64_t num_larger = global_size % world_size;  // ranks with one sample more
  const std::int64_t of_larger = num_larger > 0 ? num_larger * kept_of(smallest_share + 1) : 0;
  return of_larger + (world_size - num_larger) * kept_of(smallest_share);
}

}  // namespace

std::vector<Batch> make_microbatches(TrainState& state, const RunContext& run, const Engine& engine,
                                     int num_microbatches) {
  const Batch& batch = state.batch;
  const int world_size = run.communicator.world_size();
  std::vector<Batch> microbatches = split(batch, num_microbatches, world_size);
  if (!engine.transforms_batches()) return microbatches;
  const std::int64_t kept =
      num_kept(engine, state.clock, batch.global_size, num_microbatches, world_size);
  for (Batch& microbatch : microbatches) {
    microbatch.global_size = kept;
    engine.transform(microbatch, state, run);
  }
  return microbatches;
}

}  // namespace paceline::train
