#include "paceline/train/trainer.h"

#include "paceline/base/clock.h"
#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/comm/agreement.h"
#include "paceline/metrics/metric_sink.h"
#include "paceline/parallel/batch_norm/fresh_statistics.h"
#include "paceline/parallel/gradient_clipping.h"
#include "paceline/parallel/missing_gradients.h"
#include "paceline/tensor/autocast.h"
#include "paceline/train/batch/epoch_pass.h"
#include "paceline/train/checkpoint_saver.h"
#include "paceline/train/evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace paceline::train {
namespace {

// torch's scaler would go on to 0, and every step would be skipped in silence.
constexpr double kLeastLossScale = 1.0 / 1024;

// Whose communication is reported: the first ones also pay for memory and connections.
constexpr std::int64_t kReportedStep = 10;

/// 1 for a run that does not evaluate.
std::int64_t eval_interval_of(const TrainerConfig& config, const config::StepLengths& lengths) {
  return config.eval_every ? std::max<std::int64_t>(1, to_steps(*config.eval_every, lengths)) : 1;
}

/// Whether gradients are what backward makes of them until they are clipped, and nobody looks.
bool are_left_alone(const TrainState& state, const TrainerConfig& config, const Engine& engine) {
  const bool looks_before_clipping = config.log_grad_norm > 0 && !config.grad_clip_norm;
  return !state.scaler && !looks_before_clipping && !engine.takes_extra_passes() &&
         !engine.acts_between(Event::kAfterBackward, Event::kGradientsReady);
}

StepSums sums_of(const TrainerConfig& config, const Task& task, const Engine& engine) {
  return {.metrics = config.log_accuracy ? task.num_sums() : 0,
          .scalars = std::ssize(engine.scalar_names())};
}

}  // namespace

Trainer::Trainer(const TrainerParts& parts, const TrainerConfig& config)
    : state_(parts.state),
      run_(parts.run),
      engine_(parts.engine),
      feed_(parts.loader, run_.device),
      schedule_(parts.schedule),
      base_lr_(parts.base_lr),
      evaluator_(config.eval_every ? parts.evaluator : nullptr),
      saver_(parts.saver),
      first_step_done_(parts.first_step_done),
      sample_name_(parts.sample_name),
      config_(config),
      stop_rule_(config, state_.clock.lengths),
      eval_interval_(eval_interval_of(config, state_.clock.lengths)),
      storage_dtype_(storage_dtype(config.precision)),
      reduction_(run_.communicator, sums_of(config, *state_.task, engine_), run_.device),
      gradients_(state_, run_, engine_, reduction_, config, parts.is_forward_collective),
      limits_({.norm = config.grad_clip_norm,
               .value = config.grad_clip_value,
               .adaptive = config.grad_clip_adaptive},
              *state_.strategy, *state_.optimizer, are_left_alone(state_, config, engine_)),
      log_(run_.sinks, config.log_accuracy ? state_.task->metrics() : std::span<const Metric>(),
           run_.device, engine_.scalar_names()),
      data_watch_(parts.loader),
      speed_(parts.loader),
      skips_(parts.max_skipped) {
  PACELINE_CHECK((config.precision == Precision::kFloat16) == state_.scaler.has_value(),
                 "precision fp16, and only it, needs TrainState::scaler");
}

FitResult Trainer::fit() try {
  std::optional<FitResult> result = begin();
  while (!result) {
    if (state_.clock.is_epoch_start()) engine_.fire(Event::kEpochStart, state_, run_);
    if (train_step())
      result = finish_step();
    else if (state_.clock.step > first_step_)
      result = reach_safe_point();
    else
      result = agree_on_interruption();  // there is nothing new to save
  }
  engine_.fire(Event::kFitEnd, state_, run_);
  for (metrics::MetricSink* sink : run_.sinks) sink->flush();
  result->speed = speed_.report(run_.communicator);
  return *result;
} catch (const base::DivergedError&) {
  // All ranks come here, and what the run is worth may be on its way to the disk.
  if (saver_) saver_->finish_beside_error(run_);
  engine_.fire(Event::kException, state_, run_);
  throw;
} catch (...) {
  engine_.fire(Event::kException, state_, run_);
  throw;
}

std::optional<FitResult> Trainer::begin() {
  stop_rule_.start(state_.clock);
  first_step_ = state_.clock.step;
  feed_.seek(first_step_);
  state_.task->set_training(true);
  engine_.fire(Event::kFitStart, state_, run_);

  if (!evaluator_) state_.is_eval_pending = false;  // the run evaluated before it was interrupted
  // Go on where the run was interrupted.
  if (state_.wants_fresh_statistics || state_.is_eval_pending) {
    if (state_.wants_fresh_statistics) refresh_statistics();
    if (state_.is_eval_pending) evaluate();
    return reach_safe_point(/*must_save=*/true);  // or it is made up for again, and logged twice
  }
  if (auto complete = stop_rule_.at_start(state_.clock)) return complete;
  return stop_rule_.at_safe_point(state_, engine_.take_stop_reason());  // of an earlier start
}

// The whole step. Nothing here knows what DDP or FSDP is. A device that queues its work has all of
// it, and the next batch, before the host waits: once, to conclude the step.
bool Trainer::train_step() {
  state_.phases.reset();
  state_.phases.start();
  const tensor::DeviceRange range(run_.device, "step");
  std::optional<Batch> batch =
      feed_.next_of_all(run_.communicator, /*may_lack=*/std::exchange(was_feed_moved_, false) ||
                                               reduction_.any_lacks_next_batch());
  lacks_batch_ = !batch;
  if (lacks_batch_) return false;
  state_.batch = with_floats_as(*std::move(batch), storage_dtype_);
  skips_.add(state_.batch.skipped);
  state_.phases.mark(metrics::Phase::kDataWait);
  if (state_.clock.step == 0) log_.describe_input(state_);
  engine_.fire(Event::kStepStart, state_, run_);

  follow_schedule();
  state_.grad_norm = std::numeric_limits<double>::quiet_NaN();
  const std::int64_t num_samples = gradients_.compute();
  reduction_.add_batch(num_samples, state_.batch.skipped.size());
  feed_.prefetch();
  state_.phases.mark(metrics::Phase::kDataWait);
  start_reduction();
  gradients_.finish();
  if (state_.clock.step == std::min(kReportedStep, stop_rule_.last_step() - 1)) {
    log_.describe_communication(state_);
  }
  apply_gradients();
  state_.phases.mark(metrics::Phase::kOptimizer);
  conclude_step();

  state_.clock.step += 1;
  state_.clock.samples += state_.batch.global_size;
  return true;
}

void Trainer::follow_schedule() {
  state_.lr = base_lr_ * schedule_.factor(state_.clock.step) * state_.lr_factor;
  state_.momentum = schedule_.momentum(state_.clock.step);
  if (state_.momentum) {
    const bool has_momentum = state_.optimizer->set_momentum(*state_.momentum);
    PACELINE_CHECK(has_momentum, "optimizer {} has no momentum", state_.optimizer->name());
  }
}

void Trainer::start_reduction() {
  // Asked before the signal: it spoils reads, and a batch that is spoilt meanwhile still is ready.
  const bool lacks_next_batch = !feed_.is_ready();
  reduction_.start({.wants_stop = wants_stop(),
                    .misses_gradients = !state_.strategy->missing_gradients().names.empty(),
                    .lacks_next_batch = lacks_next_batch},
                   engine_.scalars());
}

void Trainer::apply_gradients() {
  const tensor::DeviceRange range(run_.device, "optimizer");
  at::Tensor overflows;
  if (state_.scaler) {
    overflows = parallel::unscale_gradients(*state_.strategy, state_.scaler->inverse_scale());
  }
  engine_.fire(Event::kGradientsReady, state_, run_);
  const bool logs_norm =
      config_.log_grad_norm > 0 && state_.clock.step % config_.log_grad_norm == 0;
  const at::Tensor grad_norm = limits_.apply(logs_norm);
  engine_.fire(Event::kBeforeOptimizerStep, state_, run_);
  state_.strategy->update(*state_.optimizer, state_.lr, reduction_.must_skip(overflows, grad_norm));
  engine_.fire(Event::kAfterOptimizerStep, state_, run_);
}

void Trainer::conclude_step() {
  reduction_.read();
  state_.phases.mark(metrics::Phase::kBackward);
  state_.step_totals = reduction_.totals();
  if (reduction_.is_skipped()) state_.optimizer->set_num_steps(state_.optimizer->num_steps() - 1);
  if (reduction_.any_misses_gradients()) {
    parallel::refuse_missing_gradients(state_.strategy->missing_gradients(), &run_.communicator);
  }
  if (reduction_.any_not_finite()) {
    refuse_non_finite_loss(state_.clock.step + 1, gradients_.not_finite_samples(), sample_name_,
                           run_.communicator);
  }
  count_skipped();
  if (state_.scaler) {
    follow_loss_scale();
  } else if (reduction_.any_asks_to_skip()) {
    refuse_non_finite_norm(state_.clock.step + 1, std::numeric_limits<double>::quiet_NaN());
  }
  if (const auto norm = reduction_.grad_norm(); norm && !reduction_.overflows()) {
    state_.grad_norm = *norm;
    refuse_non_finite_norm(state_.clock.step + 1, *norm);
  }
}

void Trainer::follow_loss_scale() {
  const bool overflows = reduction_.overflows() || reduction_.any_asks_to_skip();
  state_.scaler->update(overflows);
  if (overflows && state_.scaler->scale() < kLeastLossScale)
    refuse_small_loss_scale(state_.clock.step + 1);
}

std::optional<FitResult> Trainer::finish_step() {
  engine_.fire(Event::kStepEnd, state_, run_);
  log_.log_step(state_, base::SystemClock().monotonic_s(),
                engine_.callback_scalars(Event::kStepEnd, state_.clock));
  if (state_.clock.step == first_step_ + 1) first_step_done_(state_.clock.step);
  data_watch_.add_step(state_.phases);
  speed_.add_step(state_.phases, state_.step_totals.samples);
  if (state_.clock.is_epoch_start()) engine_.fire(Event::kEpochEnd, state_, run_);
  if (state_.clock.is_epoch_start() && !evaluator_) data_watch_.report(run_.communicator);

  if (state_.wants_fresh_statistics) refresh_statistics();
  const bool is_last = state_.clock.step >= stop_rule_.last_step();
  if (evaluator_ && (is_last || state_.clock.step % eval_interval_ == 0)) evaluate();
  return reach_safe_point();
}

std::optional<FitResult> Trainer::reach_safe_point(bool must_save) {
  std::optional<FitResult> result =
      is_interrupted() ? agree_on_interruption()
                       : stop_rule_.at_safe_point(state_, engine_.take_stop_reason());
  state_.is_stopping = result.has_value();
  state_.clock.elapsed_s = stop_rule_.elapsed_s();
  engine_.fire(Event::kSafePoint, state_, run_);
  if (saver_) saver_->at_safe_point(state_, engine_, run_, must_save);
  return result;
}

void Trainer::evaluate() {
  state_.is_eval_pending = state_.wants_fresh_statistics;  // which a signal left undone
  if (state_.is_eval_pending) return;
  const std::optional<EvalResult> result = evaluate_all_weights();
  state_.is_eval_pending = !result.has_value();
  if (!result) return;
  state_.last_eval = result->values;
  state_.last_eval_step = state_.clock.step;
  engine_.fire(Event::kEvaluated, state_, run_);
  log_.log_evaluation(state_, *result, data_watch_.report(run_.communicator),
                      engine_.callback_scalars(Event::kEvaluated, state_.clock));
}

std::optional<EvalResult> Trainer::evaluate_all_weights() {
  Algorithm* const standing = engine_.standing();
  const std::optional<EvalResult> first = evaluate_weights(standing, {});
  std::optional<EvalResult> result = first;
  for (Algorithm* algorithm : engine_.with_weights()) {
    if (!result) break;
    if (algorithm->traits().stands_for_weights) continue;
    const std::string_view name = algorithm->name();
    if (!algorithm->has_weights() && standing == nullptr) {
      result = result->with(first->of_weights(name));
      continue;
    }
    const auto more = evaluate_weights(algorithm->has_weights() ? algorithm : nullptr, name);
    result = more ? std::optional(result->with(*more)) : std::nullopt;
  }
  return result;
}

std::optional<EvalResult> Trainer::evaluate_weights(Algorithm* owner, std::string_view called) {
  std::optional<SwappedWeights> swapped;
  if (owner != nullptr) swapped.emplace(*owner, state_);
  state_.eval_weights = owner != nullptr ? owner->name() : std::string_view();
  engine_.fire(Event::kEvalStart, state_, run_);
  std::optional<EvalResult> result = evaluator_->run(
      *state_.task, *state_.strategy, config_.precision, state_.clock.step, run_, called);
  engine_.fire(Event::kEvalEnd, state_, run_);
  state_.eval_weights = {};
  return result;
}

// No events, and no transforms of algorithms: evaluations see no mixed images either. The draws are
// those of the epoch's steps.
void Trainer::refresh_statistics() {
  const std::int64_t length = state_.clock.lengths.steps_per_epoch;
  const std::int64_t first = std::max<std::int64_t>(0, state_.clock.step - 1) / length * length;
  const at::NoGradGuard no_grad;
  const tensor::AutocastGuard autocast(run_.device.place().type(),
                                       autocast_dtype(config_.precision));
  parallel::FreshStatistics statistics(state_.task->network(), run_.communicator);
  state_.strategy->begin_passes();
  EpochPass pass(feed_, run_.communicator, run_.device, run_.received_signal);
  const bool is_complete = pass.run(first, length, [&](std::int64_t step, Batch batch) {
    batch = with_floats_as(std::move(batch), storage_dtype_);
    state_.task->forward(batch, {run_.seed, step, batch.first_position});
  });
  state_.strategy->end_passes();
  feed_.seek(state_.clock.step);
  was_feed_moved_ = true;
  if (!is_complete) return;
  statistics.store();
  state_.wants_fresh_statistics = false;
  if (run_.is_main_rank())
    base::log_info("BatchNorm's statistics are computed anew, from {} batches in {}", length,
                   base::format_duration(pass.seconds()));
}

FitResult Trainer::agree_on_interruption() {
  if (saver_) saver_->throw_if_failed(run_);
  const int signal = static_cast<int>(comm::max_over_ranks(
      run_.communicator, run_.received_signal.load(std::memory_order_relaxed)));
  if (signal == 0) return StopRule::out_of_time();
  return {FitResult::Reason::kSignal, fmt::format("signal {} asked for it", signal), signal};
}

void Trainer::count_skipped() {
  const auto skipped = static_cast<std::int64_t>(state_.step_totals.skipped);
  if (state_.clock.is_epoch_start()) state_.skipped.of_epoch = 0;
  state_.skipped.of_epoch += skipped;
  state_.skipped.of_run += skipped;
  skips_.check(state_.skipped.of_epoch, fmt::format("epoch {}", state_.clock.epoch()),
               run_.communicator);
}

bool Trainer::wants_stop() const {
  return run_.received_signal.load(std::memory_order_relaxed) != 0 ||
         stop_rule_.is_past_wall_clock() || (saver_ && saver_->has_failed());
}

}  // namespace paceline::train
