#pragma once

#include "paceline/base/owned.h"
#include "paceline/metrics/meters.h"
#include "paceline/optim/grad_scaler.h"
#include "paceline/optim/optimizer.h"
#include "paceline/parallel/strategy.h"
#include "paceline/train/batch/batch.h"
#include "paceline/train/clock.h"
#include "paceline/train/task.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::train {

/// Sums over all ranks and microbatches of one step or of one evaluation.
struct Totals {
  double loss_sum = 0;
  double samples = 0;
  double skipped = 0;                ///< samples that could not be read
  std::vector<double> sums;          ///< as Task::sums()
  std::vector<double> scalars = {};  ///< of a step: as Engine::scalars(), the mean over the samples

  double mean_loss() const { return loss_sum / samples; }
  /// Whether there was anything to divide by.
  bool has(const Metric& metric) const { return denominator(metric) != 0; }
  double value(const Metric& metric) const {
    return sums.at(static_cast<std::size_t>(metric.numerator)) / denominator(metric);
  }

 private:
  double denominator(const Metric& metric) const {
    return metric.denominator == Metric::kSamples
               ? samples
               : sums.at(static_cast<std::size_t>(metric.denominator));
  }
};

/// Training samples of all ranks that could not be read.
struct SkippedSamples {
  std::int64_t of_epoch = 0;  ///< in the epoch at hand
  std::int64_t of_run = 0;
};

/// All that changes during training. The first part is saved in checkpoints (through the strategy
/// for tensors); the second belongs to the current step and is gone after it.
///
/// A const state is constant in all its parts: who gets one (callbacks above all) can ask task,
/// strategy and optimizer, but not have them do anything. Only the elements of a tensor are no part
/// of its constness in LibTorch: what is read as a tensor must not be written.
struct TrainState {
  base::Owned<Task> task;
  base::Owned<parallel::Strategy> strategy;
  base::Owned<optim::Optimizer> optimizer;  ///< null until the strategy has laid out the parameters
  std::optional<optim::GradScaler> scaler;  ///< of precision fp16
  Clock clock;
  SkippedSamples skipped;
  std::map<std::string, double> last_eval;  ///< "val/top1" and so on, of the newest evaluation
  std::int64_t last_eval_step = -1;         ///< when that was
  bool is_eval_pending = false;             ///< an evaluation was due but interrupted
  /// Running statistics do not belong to the weights: an algorithm says so at kStepEnd or
  /// kEpochEnd, and the trainer computes them anew before an evaluation or a save sees them, or
  /// with the next start, if a signal interrupts it.
  bool wants_fresh_statistics = false;
  double lr_factor = 1;  ///< on the schedule's learning rate, of the algorithm that sets it
  std::string_view eval_weights;  ///< whose an evaluation at hand measures; empty: the trained

  Batch batch;  ///< of the step; during a microbatch: that microbatch
  tensor::Fields outputs;
  at::Tensor loss;  ///< summed over the microbatch's samples
  double lr = 0;
  std::optional<double> momentum;  ///< as the schedule says it; none: the optimizer's own
  double grad_norm = 0;  ///< before clipping; NaN where it was not asked for, and before kStepEnd
  Totals step_totals;
  metrics::PhaseTimer phases;
  bool is_stopping = false;  ///< this is the last safe point
};

}  // namespace paceline::train
