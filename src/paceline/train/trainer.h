#pragma once

#include "paceline/data/loader/loader.h"
#include "paceline/optim/schedule.h"
#include "paceline/parallel/gradient_limits.h"
#include "paceline/train/batch/batch_feed.h"
#include "paceline/train/engine.h"
#include "paceline/train/run_context.h"
#include "paceline/train/step_gradients.h"
#include "paceline/train/step_log.h"
#include "paceline/train/step_reduction.h"
#include "paceline/train/stop_rule.h"
#include "paceline/train/train_state.h"
#include "paceline/train/trainer_config.h"
#include "paceline/train/watch/data_watch.h"
#include "paceline/train/watch/non_finite_loss.h"
#include "paceline/train/watch/run_speed.h"
#include "paceline/train/watch/skip_limit.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace paceline::train {

class CheckpointSaver;  // train/checkpoint_saver.h
class Evaluator;        // train/evaluator.h
struct EvalResult;

/// The parts a trainer works with; all outlive it.
struct TrainerParts {
  TrainState& state;
  const RunContext& run;
  Engine& engine;
  data::DataLoader& loader;
  const optim::Schedule& schedule;
  double base_lr = 0;
  Evaluator* evaluator = nullptr;    ///< nullptr: no evaluation
  CheckpointSaver* saver = nullptr;  ///< nullptr: nothing is saved
  /// Forward passes wait for other ranks, so a rank without samples runs them on an empty batch.
  bool is_forward_collective = false;
  std::int64_t max_skipped = SkipLimit::kNone;  ///< samples of an epoch
  /// Called with the number of the first step that is done after the start or the resume.
  std::function<void(std::int64_t step)> first_step_done = [](std::int64_t) {};
  SampleName sample_name = [](std::int64_t index) { return std::to_string(index); };
};

/// The training loop and nothing else: what a step does, and what follows a step.
class Trainer {
 public:
  Trainer(const TrainerParts& parts, const TrainerConfig& config);

  /// Trains from the state's clock to the end of the run. Every rank must call it. Throws what its
  /// parts throw; DivergedError names the step, the rank and the samples when the loss is not
  /// finite.
  FitResult fit();

 private:
  /// False, with nothing done, if a rank was asked to stop before it could read its batch.
  bool train_step();
  /// Learning rate and momentum of the step at hand.
  void follow_schedule();
  void start_reduction();
  /// Undoes the loss scale of fp16, clips and updates, unless a value shows on the device that the
  /// step must not be applied.
  void apply_gradients();
  /// Waits for what the step found, and throws what concerns all ranks: missing gradients, a loss
  /// or a norm that is not finite, after which the step is not applied, and too many samples that
  /// could not be read.
  void conclude_step();
  /// Throws DivergedError when no scale is small enough for fp16.
  void follow_loss_scale();
  /// What follows a step: log, epoch end, evaluation, safe point. Returns how the run ends, if it
  /// does.
  std::optional<FitResult> finish_step();
  /// How a run ends that has begun, or goes on: at once, if it does.
  std::optional<FitResult> begin();
  /// What follows an evaluation, also one that a resumed run had to make up for.
  std::optional<FitResult> reach_safe_point(bool must_save = false);
  void evaluate();
  /// Computes running statistics anew by a pass over the epoch at hand, of which nothing else is
  /// left; nothing if a signal interrupted it.
  void refresh_statistics();
  /// Of the trained weights or those that stand for them, and of the sets besides; nothing if a
  /// signal interrupted it.
  std::optional<EvalResult> evaluate_all_weights();
  /// Of `owner`'s, or the trained ones if it is null, `called` as in Evaluator::run(); likewise.
  std::optional<EvalResult> evaluate_weights(Algorithm* owner, std::string_view called);
  /// On any rank: a signal, the clock on the wall, or a batch that could not be read.
  bool is_interrupted() const {
    return reduction_.any_wants_stop() || state_.is_eval_pending || state_.wants_fresh_statistics ||
           lacks_batch_;
  }
  FitResult agree_on_interruption();
  /// Throws DataError on every rank when an epoch skipped too much.
  void count_skipped();
  bool wants_stop() const;

  TrainState& state_;
  const RunContext& run_;
  Engine& engine_;
  BatchFeed feed_;
  const optim::Schedule& schedule_;
  double base_lr_;
  Evaluator* evaluator_;
  CheckpointSaver* saver_;
  std::function<void(std::int64_t step)> first_step_done_;
  SampleName sample_name_;
  TrainerConfig config_;
  bool lacks_batch_ = false;     ///< a rank does, and the run ends
  bool was_feed_moved_ = false;  ///< since the last step, so that no batch is at hand
  std::int64_t first_step_ = 0;  ///< as the clock counts, before it
  StopRule stop_rule_;
  std::int64_t eval_interval_;  ///< in steps
  at::ScalarType storage_dtype_;
  StepReduction reduction_;
  StepGradients gradients_;
  parallel::GradientLimits limits_;
  StepLog log_;
  DataWatch data_watch_;
  RunSpeed speed_;
  SkipLimit skips_;
};

}  // namespace paceline::train
