#pragma once

#include "paceline/app/batch_find/batch_search.h"
#include "paceline/app/session.h"
#include "paceline/app/train_request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace paceline::app {

/// What was found about a recipe's batch.
struct BatchFindResult {
  std::int64_t samples_per_rank = 0;  ///< at once; more would not fit, or the data have no more
  int world_size = 1;
  bool ends_with_data = false;             ///< memory would take more
  std::uint64_t limit_bytes = 0;           ///< of this rank
  std::uint64_t state_bytes = 0;           ///< of it, whatever the batch is
  std::vector<BatchTry> tries = {};        ///< with this rank's bytes
  std::vector<std::string> verdicts = {};  ///< of each try, for people
  std::int64_t own_global_batch = 0;       ///< of the recipe as it stands
  /// In how many microbatches the recipe's own global batch fits, by prediction; nothing: in none.
  std::optional<int> microbatches_of_own = {};
  std::vector<std::string> largest_keys = {};     ///< overrides for the batch that was found
  std::vector<std::string> lr_keys = {};          ///< by which the learning rate follows
  std::vector<std::string> same_batch_keys = {};  ///< for the recipe's own; empty: it does not fit

  std::int64_t global_batch() const { return samples_per_rank * world_size; }
};

/// Finds the largest batch of the request's recipe that fits into `limit_bytes` of each rank's
/// tensors, by two steps of each size that is tried, and throws everything away. What
/// `train.compile: graph` holds of a step that it has recorded is not among it, as a warning says
/// where something is recorded (on GPUs). Ranks may have unequal limits; nothing: what their GPU
/// has free. Nothing is written. Every rank must call it. Throws base::Error on all ranks:
/// ConfigError if one sample does not fit, if there are fewer samples than ranks, if the limit is
/// left out on the CPU, and for a recipe of phases of which none is named; Interrupted after a
/// signal.
BatchFindResult find_batch(const TrainRequest& request, std::optional<std::uint64_t> limit_bytes,
                           const SessionContext& context);

}  // namespace paceline::app
