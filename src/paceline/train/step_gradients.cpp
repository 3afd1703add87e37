#include "paceline/train/step_gradients.h"

#include "paceline/base/log.h"
#include "paceline/tensor/autocast.h"
#include "paceline/train/microbatches.h"

#include <cmath>

namespace paceline::train {

StepGradients::StepGradients(TrainState& state, const RunContext& run, Engine& engine,
                             StepReduction& reduction, const TrainerConfig& config,
                             bool is_forward_collective)
    : state_(state),
      run_(run),
      engine_(engine),
      reduction_(reduction),
      num_microbatches_(config.grad_accum_steps),
      counts_metrics_(config.log_accuracy),
      is_forward_collective_(is_forward_collective),
      autocast_dtype_(autocast_dtype(config.precision)) {
  if (config.compile == Compile::kGraph) start_recording();
}

void StepGradients::start_recording() {
  const auto make_graph = [this] { return run_.device.make_graph(); };
  const std::optional<std::string> obstacle =
      make_graph() ? obstacle_to_recording(state_, engine_)
                   : std::optional(run_.device.describe() + " cannot record its work");
  if (!obstacle) {
    recording_.emplace(make_graph, state_.clock.lengths.samples_per_step,
                       [this](std::span<const Batch> microbatches) {
                         auto losses = pass(microbatches, /*is_reduced=*/true, /*is_counted=*/true);
                         state_.strategy->finish_gradients();
                         return losses;
                       });
    state_.strategy->fix_trainable("train.compile: graph records a step; use none");
  } else if (run_.is_main_rank()) {
    base::log_warning("train.compile: graph has no effect: {}", *obstacle);
  }
}

std::int64_t StepGradients::compute() {
  const Batch batch = state_.batch;
  microbatches_ = make_microbatches(state_, run_, engine_, num_microbatches_);
  if (Algorithm* const algorithm = engine_.with_extra_pass(state_))
    take_extra_pass(*algorithm, batch);
  losses_ = recording_ ? recording_->run(microbatches_, batch.global_size)
                       : pass(microbatches_, /*is_reduced=*/true, /*is_counted=*/true);
  state_.batch = batch;
  std::int64_t num_samples = 0;
  for (Batch& microbatch : microbatches_) {
    num_samples += microbatch.size;
    microbatch.fields = {};  // their memory
  }
  return num_samples;
}

void StepGradients::take_extra_pass(Algorithm& algorithm, const Batch& batch) {
  const bool is_of_all = algorithm.extra_pass(state_) == PassSum::kOfAllRanks;
  pass(microbatches_, /*is_reduced=*/is_of_all, /*is_counted=*/false);
  if (is_of_all) {
    state_.strategy->finish_gradients();
  } else {
    state_.strategy->end_own_pass();
  }
  state_.batch = batch;
  reduction_.ask_to_skip(algorithm.after_extra_pass(state_));
}

StepGradients::Losses StepGradients::pass(std::span<const Batch> microbatches, bool is_reduced,
                                          bool is_counted) {
  parallel::Strategy& strategy = *state_.strategy;
  Losses losses(microbatches.size());
  for (std::size_t i = 0; i < microbatches.size(); ++i) {
    state_.batch = microbatches[i];
    const bool is_last = i + 1 == microbatches.size();
    strategy.begin_microbatch(/*is_first=*/i == 0, is_reduced && is_last);
    if (has_no_samples()) {  // as a ragged last batch may leave a rank
      strategy.forward_nothing();
      engine_.forward_nothing();
      strategy.backward_nothing();
      continue;
    }
    compute_loss();
    losses[i] = state_.loss.detach();
    if (is_counted)
      reduction_.add(losses[i], counts_metrics_ ? state_.task->sums(state_.outputs, state_.batch)
                                                : at::Tensor());
    mark_phase(metrics::Phase::kForward);
    const tensor::DeviceRange range(run_.device, "backward");
    engine_.fire(Event::kBeforeBackward, state_, run_);
    strategy.backward(state_.loss, sample_weight());
    engine_.fire(Event::kAfterBackward, state_, run_);
    mark_phase(metrics::Phase::kBackward);
  }
  return losses;
}

void StepGradients::compute_loss() {
  const tensor::DeviceRange range(run_.device, "forward");
  const tensor::AutocastGuard autocast(run_.device.place().type(), autocast_dtype_);
  const nn::ForwardContext context{run_.seed, state_.clock.step, state_.batch.first_position};
  engine_.fire(Event::kBeforeForward, state_, run_);
  state_.outputs = state_.task->forward(state_.batch, context);
  engine_.fire(Event::kAfterForward, state_, run_);
  engine_.fire(Event::kBeforeLoss, state_, run_);
  state_.loss = state_.task->loss(state_.outputs, state_.batch);
  engine_.fire(Event::kAfterLoss, state_, run_);
}

// Ranks and microbatches sum gradients, so each sample weighs 1 / global size, also in ragged
// batches and where algorithms leave fewer samples.
double StepGradients::sample_weight() const {
  const double scale = state_.scaler ? state_.scaler->scale() : 1.0;
  return scale / static_cast<double>(state_.batch.global_size);
}

void StepGradients::finish() {
  if (!recording_) state_.strategy->finish_gradients();
  reduction_.finish();
  mark_phase(metrics::Phase::kBackward);
}

std::vector<std::int64_t> StepGradients::not_finite_samples() const {
  std::vector<std::int64_t> samples;
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    if (!losses_[i].defined() || std::isfinite(losses_[i].item<double>())) continue;
    const std::vector<std::int64_t> indices = sample_indices(microbatches_[i]);
    samples.insert(samples.end(), indices.begin(), indices.end());
  }
  return samples;
}

// What the strategy waited since the last mark is not counted as the phase's.
void StepGradients::mark_phase(metrics::Phase phase) {
  constexpr auto kExposed = metrics::Phase::kExposedCommunication;
  state_.phases.mark(phase);
  state_.phases.move(phase, kExposed,
                     state_.strategy->exposed_communication_s() - state_.phases.seconds(kExposed));
}

}  // namespace paceline::train
