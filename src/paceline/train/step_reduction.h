#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/tensor/aten.h"
#include "paceline/train/train_state.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paceline::train {

/// The one small reduction of a step: loss, counts of samples, counted metrics, and two flags, in
/// float64. It starts before the last backward and is read after it, so that it costs no wait of
/// its own.
class StepReduction {
 public:
  StepReduction(comm::Communicator& communicator, std::size_t num_counts);

  /// Adds one microbatch of this rank. A loss that is not finite is noticed here.
  void add(double loss_sum, std::int64_t samples, std::span<const double> counts);
  /// Counts samples of this rank that could not be read.
  void add_skipped(std::size_t samples);
  /// Room for the counts of one microbatch, zeroed.
  std::span<double> scratch_counts();

  /// Every rank must call it once a step, before the last microbatch's backward.
  void start(bool wants_stop);
  /// Waits; leaves the reduction empty for the next step.
  void finish();

  const Totals& totals() const { return totals_; }
  bool any_not_finite() const { return any_not_finite_; }
  bool any_wants_stop() const { return any_wants_stop_; }

 private:
  comm::Communicator& communicator_;
  std::size_t num_counts_;
  at::Tensor values_;  ///< [5 + num_counts]: loss, samples, skipped, not finite, stop, counts
  std::vector<double> scratch_;
  std::unique_ptr<comm::Work> work_;
  Totals totals_;
  bool any_not_finite_ = false;
  bool any_wants_stop_ = false;
};

}  // namespace paceline::train
