#include "paceline/train/step_recording.h"

#include "paceline/base/error.h"
#include "paceline/nn/dropout.h"
#include "paceline/train/engine.h"
#include "paceline/train/train_state.h"

#include <utility>

namespace paceline::train {
namespace {

// In the first steps kernels are chosen and libraries get their workspaces, which cannot be
// recorded.
constexpr int kWarmUps = 3;

}  // namespace

StepRecording::StepRecording(MakeWork make_work, std::int64_t samples_per_step, Queue queue)
    : make_work_(std::move(make_work)),
      samples_per_step_(samples_per_step),
      queue_(std::move(queue)) {}

const StepRecording::Losses& StepRecording::run(const Batch& batch) {
  forget_other_sizes(batch);
  if (!fits(batch) || num_warm_ups_ < kWarmUps) {
    num_warm_ups_ += fits(batch) ? 1 : 0;
    direct_losses_ = queue_(batch);
    return direct_losses_;
  }
  if (inputs_) {
    for (auto& [name, field] : inputs_->fields) field.copy_(batch.fields.at(name));
  } else {
    record(batch);
  }
  work_->replay();
  return recorded_losses_;
}

// All ranks see the same size of the global batch and so come to the same answer.
bool StepRecording::fits(const Batch& batch) const {
  return batch.global_size == samples_per_step_;
}

// As progressive resizing changes them, at the same step on all ranks.
void StepRecording::forget_other_sizes(const Batch& batch) {
  std::vector<std::int64_t> sizes;
  for (const auto& [name, field] : batch.fields) {
    const auto of_sample = field.sizes().slice(1);
    sizes.push_back(field.dim());
    sizes.insert(sizes.end(), of_sample.begin(), of_sample.end());
  }
  if (sizes == sample_sizes_) return;
  sample_sizes_ = std::move(sizes);
  num_warm_ups_ = 0;
  inputs_.reset();
  recorded_losses_.clear();
  work_.reset();
}

void StepRecording::record(const Batch& batch) {
  work_ = make_work_();
  inputs_ = batch;
  inputs_->fields = batch.fields.map([](const at::Tensor& field) { return field.clone(); });
  try {
    work_->record([this] { recorded_losses_ = queue_(*inputs_); });
  } catch (const base::Error&) {
    throw;
  } catch (const c10::Error& error) {
    throw base::ConfigError(
        fmt::format("train.compile: graph: this step cannot be recorded: {}; use train.compile: "
                    "none",
                    error.what_without_backtrace()));
  }
}

std::optional<std::string> obstacle_to_recording(const TrainState& state, const Engine& engine) {
  if (!state.strategy->can_be_recorded()) {
    return fmt::format("strategy {} frees and gathers weights within a step",
                       state.strategy->name());
  }
  if (const auto name = engine.takes_extra_passes())
    return fmt::format("{} takes gradients twice", *name);
  if (state.scaler) return "the loss scale of fp16 changes between steps";
  if (nn::draws_in_training(state.task->network())) {
    return "dropout and drop path draw anew in each step";
  }
  if (const auto name = engine.acts_between(Event::kBeforeForward, Event::kAfterBackward)) {
    return fmt::format("{} acts within the step", *name);
  }
  return std::nullopt;
}

}  // namespace paceline::train
