#include "paceline/algorithms/selective_backprop/selective_backprop.h"

#include "paceline/algorithms/microbatch/images.h"
#include "paceline/base/error.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/tensor/autocast.h"
#include "paceline/train/run_context.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/train_state.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace paceline::algorithms {
namespace {

const train::ClassificationTask& require_classification(const train::Task& task) {
  const auto* const found = dynamic_cast<const train::ClassificationTask*>(&task);
  if (found == nullptr) {
    throw base::ConfigError(
        "algorithms.selective_backprop needs the loss of each sample, which task classification "
        "has and this run's does not: leave it out");
  }
  if (found->loss_of_targets().num_views() > 1) {
    throw base::ConfigError(
        "algorithms.selective_backprop keeps single samples, and this loss compares several views "
        "of one: choose another loss, or leave it out");
  }
  return *found;
}

/// Of one group of samples.
std::int64_t num_kept_of(std::int64_t count, double keep) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(keep * static_cast<double>(count)));
}

/// From the microbatch's first row on, whatever its position: how many there are, and how many of
/// them stay, is known from sizes alone.
std::vector<SampleGroup> groups_by_row(const train::Batch& batch, std::int64_t step,
                                       const train::RunContext& run,
                                       std::optional<std::int64_t> group) {
  const std::int64_t most = group.value_or(batch.size);
  std::vector<SampleGroup> groups;
  for (std::int64_t row = 0; row < batch.size; row += most)
    groups.push_back(
        {row, std::min(most, batch.size - row), {run.seed, step, batch.first_position + row}});
  return groups;
}

}  // namespace

bool selects_samples(const SelectiveBackpropConfig& config, double elapsed,
                     std::int64_t batch_in_epoch) {
  const bool is_interrupted = config.interrupt > 0 && (batch_in_epoch + 1) % config.interrupt == 0;
  return config.keep < 1 && elapsed >= config.start && elapsed < config.end && !is_interrupted;
}

std::vector<double> selection_weights(std::int64_t size, double keep) {
  std::vector<double> weights;
  for (std::int64_t i = 0; i < size; ++i)
    weights.push_back(
        std::pow((static_cast<double>(i) + 0.5) / static_cast<double>(size), 1.0 / keep - 1.0));
  return weights;
}

// The least of exponential variables with these rates comes first with probabilities that are as
// the rates, and so do the next ones of what is left.
std::vector<std::int64_t> draw_places(const std::vector<double>& weights, std::int64_t count,
                                      base::Philox draws) {
  std::vector<std::pair<double, std::int64_t>> arrivals;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double time = -std::log1p(-draws.uniform()) / weights[i];
    arrivals.emplace_back(time, static_cast<std::int64_t>(i));
  }
  std::ranges::sort(arrivals);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < count; ++i)
    places.push_back(arrivals[static_cast<std::size_t>(i)].second);
  return places;
}

at::Tensor rows_at(const at::Tensor& places, const at::Tensor& losses) {
  return at::argsort(losses, /*stable=*/true, /*dim=*/0, /*descending=*/false)
      .index_select(0, places);
}

at::Tensor smaller_images(const at::Tensor& images, double scale_factor) {
  const std::array<double, 2> factors{scale_factor, scale_factor};
  return at::upsample_bilinear2d(images, at::OptionalIntArrayRef(), /*align_corners=*/false,
                                 at::ArrayRef<double>(factors));
}

train::AlgorithmTraits SelectiveBackprop::traits() const {
  return {.events = {train::Event::kInit, train::Event::kStepStart},
          .order = kSelectionOrder,
          .transforms_batches = true,
          .may_come_or_go = true,
          .scalars = {"kept"}};
}

void SelectiveBackprop::apply(train::Event event, train::TrainState& state,
                              const train::RunContext& /*run*/) {
  if (event == train::Event::kInit) {
    if (state.clock.lengths.total_steps == 0) {
      throw base::ConfigError(
          "algorithms.selective_backprop counts shares of the run, whose length is not known in "
          "steps: give train.duration in ep, ba or sp");
    }
    is_forward_collective_ =
        nn::has_training_kernels(require_classification(*state.task).network());
  } else {
    sender_.begin_step();
    share_ = 1.0;
  }
}

bool SelectiveBackprop::selects(const train::Clock& clock) const {
  const double elapsed =
      static_cast<double>(clock.step) / static_cast<double>(clock.lengths.total_steps);
  return selects_samples(config_, elapsed, clock.batch_in_epoch());
}

std::int64_t SelectiveBackprop::num_kept(std::int64_t size, const train::Clock& clock) const {
  if (size == 0 || !selects(clock)) return size;
  const std::int64_t most = config_.group.value_or(size);
  const std::int64_t rest = size % most;
  return size / most * num_kept_of(most, config_.keep) +
         (rest > 0 ? num_kept_of(rest, config_.keep) : 0);
}

void SelectiveBackprop::transform(train::Batch& microbatch, train::TrainState& state,
                                  const train::RunContext& run) {
  if (!selects(state.clock)) return;
  const at::NoGradGuard no_grad;
  const at::Tensor all = losses(microbatch, state, run);  // also for the ranks that wait for it
  const std::int64_t size = microbatch.size;
  if (num_kept(size, state.clock) == size) return;
  std::vector<at::Tensor> kept;
  for (const SampleGroup& group : groups_by_row(microbatch, state.clock.step, run, config_.group)) {
    const auto places =
        draw_places(selection_weights(group.count, config_.keep),
                    num_kept_of(group.count, config_.keep), group.key.draws(Drawn::kSelection));
    const at::Tensor rows =
        rows_at(sender_.send(places, run.device), all.narrow(0, group.row, group.count));
    kept.push_back(rows + group.row);
  }
  keep_samples(microbatch, kept.size() == 1 ? kept.front() : at::cat(kept));
  share_ = static_cast<double>(microbatch.size) / static_cast<double>(size);
}

void SelectiveBackprop::transform_nothing(const train::Batch& microbatch, train::TrainState& state,
                                          const train::RunContext& run) {
  if (!selects(state.clock)) return;
  const at::NoGradGuard no_grad;
  if (is_forward_collective_) {
    losses(microbatch, state, run);
    return;
  }
  state.strategy->begin_passes();
  state.strategy->forward_nothing();
  state.strategy->end_passes();
}

std::uint64_t SelectiveBackprop::copied_bytes(const train::TrainState& /*state*/,
                                              const train::FieldBytes& field_bytes) const {
  return static_cast<std::uint64_t>(config_.keep *
                                    static_cast<double>(bytes_of_images(field_bytes)));
}

at::Tensor SelectiveBackprop::losses(const train::Batch& microbatch, train::TrainState& state,
                                     const train::RunContext& run) const {
  const auto& task = require_classification(*state.task);
  const tensor::AutocastGuard autocast(run.device.place().type(), run.autocast_dtype);
  train::Batch seen = microbatch;
  if (config_.scale_factor < 1)
    seen.fields.set(train::kImages,
                    smaller_images(images_of(microbatch, name()), config_.scale_factor));
  state.strategy->begin_passes();
  const tensor::Fields outputs =
      state.task->forward(seen, {run.seed, state.clock.step, microbatch.first_position});
  state.strategy->end_passes();
  return task.loss_of_targets().per_sample(outputs.at(train::kLogits),
                                           train::targets_of(microbatch));
}

std::unique_ptr<train::Algorithm> make(const SelectiveBackpropConfig& config) {
  return std::make_unique<SelectiveBackprop>(config);
}

}  // namespace paceline::algorithms
