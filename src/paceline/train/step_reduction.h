#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/tensor/aten.h"
#include "paceline/train/train_state.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paceline::train {

/// What one rank tells the others in a step.
struct StepFlags {
  bool wants_stop = false;
  bool misses_gradients = false;
  bool lacks_next_batch = false;  ///< which is still being read
};

/// The one small reduction of a step: loss, counts of samples, counted metrics, and flags, in
/// float64. Whether ranks communicate in a step is decided by what it tells all of them.
class StepReduction {
 public:
  StepReduction(comm::Communicator& communicator, std::size_t num_counts);

  /// Adds one microbatch of this rank. A loss that is not finite is noticed here.
  void add(double loss_sum, std::int64_t samples, std::span<const double> counts);
  /// Counts samples of this rank that could not be read.
  void add_skipped(std::size_t samples);
  /// Room for the counts of one microbatch, zeroed.
  std::span<double> scratch_counts();

  /// Every rank must call it once a step. After the last microbatch's backward and before the
  /// gradients are waited for its wait is part of theirs.
  void start(const StepFlags& own);
  /// Waits; leaves the reduction empty for the next step.
  void finish();

  const Totals& totals() const { return totals_; }
  bool any_not_finite() const { return any_not_finite_; }
  bool any_wants_stop() const { return any_wants_stop_; }
  bool any_misses_gradients() const { return any_misses_gradients_; }
  bool any_lacks_next_batch() const { return any_lacks_next_batch_; }

 private:
  comm::Communicator& communicator_;
  std::size_t num_counts_;
  at::Tensor values_;  ///< [7 + num_counts]: loss, samples, skipped, four flags, counts
  std::vector<double> scratch_;
  std::unique_ptr<comm::Work> work_;
  Totals totals_;
  bool any_not_finite_ = false;
  bool any_wants_stop_ = false;
  bool any_misses_gradients_ = false;
  bool any_lacks_next_batch_ = true;  ///< before the first step nothing is known
};

}  // namespace paceline::train
