#pragma once

#include "paceline/train/engine.h"
#include "paceline/train/run_context.h"
#include "paceline/train/step_recording.h"
#include "paceline/train/step_reduction.h"
#include "paceline/train/train_state.h"
#include "paceline/train/trainer_config.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace paceline::train {

/// The gradients of a step: forward, loss and backward of all microbatches, and their sums over the
/// ranks. Neither compute() nor finish() waits for the device.
class StepGradients {
 public:
  /// `run`, `engine`, `state` and `reduction` must outlive it. If `is_forward_collective`, forward
  /// passes wait for other ranks, so a rank without samples runs them on an empty batch.
  StepGradients(TrainState& state, const RunContext& run, Engine& engine, StepReduction& reduction,
                const TrainerConfig& config, bool is_forward_collective);

  /// Queues the work for the state's batch, which is there again afterwards; adds each microbatch
  /// to the reduction. Gives the samples of this rank that it learns from. Every rank must call it.
  std::int64_t compute();

  /// After the reduction was started: waits until gradients and reduction are sums over the ranks;
  /// where work is queued, has what follows wait there. Every rank must call it.
  void finish();

  /// Of this rank, those of the microbatches whose loss is not finite. Waits for the device.
  std::vector<std::int64_t> not_finite_samples() const;

 private:
  using Losses = StepRecording::Losses;

  void start_recording();
  /// A pass before the step's own, at the weights as they are: where the algorithm takes them is
  /// where the step's gradients are from.
  void take_extra_pass(Algorithm& algorithm, const Batch& batch);
  /// Forward and backward of all microbatches; `is_reduced`: the last one's backward sums them over
  /// the ranks; `is_counted`: loss and metrics are the step's. The loss of each, undefined if it
  /// has no samples.
  Losses pass(std::span<const Batch> microbatches, bool is_reduced, bool is_counted);
  /// Forward and loss of the microbatch at hand, in the run's precision.
  void compute_loss();
  /// Of each sample, in the loss that backward starts from.
  double sample_weight() const;
  bool has_no_samples() const { return state_.batch.size == 0 && !is_forward_collective_; }
  void mark_phase(metrics::Phase phase);

  TrainState& state_;
  const RunContext& run_;
  Engine& engine_;
  StepReduction& reduction_;
  int num_microbatches_;
  bool counts_metrics_;
  bool is_forward_collective_;
  std::optional<at::ScalarType> autocast_dtype_;
  std::optional<StepRecording> recording_;  ///< of compile: graph, where nothing stands against it
  // Of the step at hand:
  std::vector<Batch> microbatches_;  ///< after compute() without their fields
  Losses losses_;
};

}  // namespace paceline::train
