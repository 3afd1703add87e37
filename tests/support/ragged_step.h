#pragma once

#include "paceline/parallel/strategy.h"

#include <algorithm>
#include <cstdint>

namespace paceline::test {

/// A global batch that no number of ranks and microbatches divides.
inline constexpr std::int64_t kRaggedBatch = 13;

/// A rank's samples [first, last) of that batch.
struct Share {
  Share(int rank, int world_size)
      : largest((kRaggedBatch + world_size - 1) / world_size),
        first(std::min(kRaggedBatch, rank * largest)),
        last(std::min(kRaggedBatch, first + largest)) {}
  std::int64_t largest;  ///< of all ranks
  std::int64_t first;
  std::int64_t last;
};

/// Gradients of the share in microbatches of equal size, the last ones ragged or empty. There is a
/// summed_loss(net, first, count) for the net.
template <typename Net>
void ragged_step(parallel::Strategy& strategy, const Net& net, const Share& share,
                 int num_microbatches) {
  const std::int64_t size = (share.largest + num_microbatches - 1) / num_microbatches;
  for (int i = 0; i < num_microbatches; ++i) {
    strategy.begin_microbatch(i == 0, i + 1 == num_microbatches);
    const std::int64_t begin = std::min(share.last, share.first + i * size);
    const std::int64_t count = std::min(share.last, begin + size) - begin;
    if (count == 0) {
      strategy.forward_nothing();
      strategy.backward_nothing();
    } else {
      strategy.backward(summed_loss(net, begin, count), 1.0 / kRaggedBatch);
    }
  }
  strategy.finish_gradients();
}

}  // namespace paceline::test
