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

StepRecording::StepRecording(MakeGraph make_graph, std::int64_t samples_per_step, Queue queue)
    : make_graph_(std::move(make_graph)),
      samples_per_step_(samples_per_step),
      queue_(std::move(queue)) {}

// All ranks see the same size of the global batch, and algorithms keep the same of it, so they come
// to the same answer.
const StepRecording::Losses& StepRecording::run(std::span<const Batch> microbatches,
                                                std::int64_t global_size) {
  const bool is_whole = global_size == samples_per_step_;
  if (is_whole) forget_other_sizes(microbatches);
  if (!is_whole || num_warm_ups_ < kWarmUps) {
    num_warm_ups_ += is_whole ? 1 : 0;
    direct_losses_ = queue_(microbatches);
    return direct_losses_;
  }
  if (inputs_.empty()) {
    record(microbatches);
  } else {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      for (auto& [name, field] : inputs_[i].fields) field.copy_(microbatches[i].fields.at(name));
    }
  }
  work_->replay();
  return recorded_losses_;
}

// As progressive resizing changes them, at the same step on all ranks.
void StepRecording::forget_other_sizes(std::span<const Batch> microbatches) {
  std::vector<std::int64_t> sizes;
  for (const Batch& microbatch : microbatches) {
    for (const auto& [name, field] : microbatch.fields) {
      sizes.push_back(field.dim());
      sizes.insert(sizes.end(), field.sizes().begin(), field.sizes().end());
    }
  }
  if (sizes == sizes_) return;
  sizes_ = std::move(sizes);
  num_warm_ups_ = 0;
  inputs_.clear();
  recorded_losses_.clear();
  work_.reset();
}

void StepRecording::record(std::span<const Batch> microbatches) {
  work_ = make_graph_();
  inputs_.assign(microbatches.begin(), microbatches.end());
  for (Batch& input : inputs_)
    input.fields = input.fields.map([](const at::Tensor& field) { return field.clone(); });
  try {
    work_->record([this] { recorded_losses_ = queue_(inputs_); });
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
  if (!state.task->can_be_recorded())
    return "the task does not say that each step does the same (Task::can_be_recorded)";
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
