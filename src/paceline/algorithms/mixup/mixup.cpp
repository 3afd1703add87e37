#include "paceline/algorithms/mixup/mixup.h"

#include "paceline/base/error.h"
#include "paceline/nn/loss_targets.h"
#include "paceline/nn/network_parts.h"
#include "paceline/tensor/host_tensor.h"
#include "paceline/train/run_context.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/train_state.h"

#include <string>
#include <utility>

namespace paceline::algorithms {
namespace {

const train::ClassificationTask& classification_of(const train::Task& task) {
  if (const auto* const found = dynamic_cast<const train::ClassificationTask*>(&task))
    return *found;
  throw base::ConfigError(
      "algorithms.mixup mixes the class labels of task classification, and this run has another "
      "task: leave algorithms.mixup out");
}

void require_probabilities(const train::ClassificationTask& task) {
  if (task.loss_of_targets().takes_probabilities()) return;
  throw base::ConfigError(
      "algorithms.mixup gives each sample a probability for every class, and the recipe's loss "
      "takes class indices only: choose another loss, or write "
      "algorithms.mixup.interpolate_loss=true");
}

std::int64_t classes_of(const nn::Network& network) {
  if (const auto count = nn::num_outputs(network)) return *count;
  throw base::ConfigError(
      "algorithms.mixup gives each sample a probability for every class, and this network does not "
      "say which of its layers gives the logits: override Network::head_names(), or write "
      "algorithms.mixup.interpolate_loss=true");
}

const at::Tensor& images_of(const train::Batch& batch) {
  if (const at::Tensor* const images = batch.fields.find(train::kImages)) return *images;
  throw base::ConfigError(
      fmt::format("algorithms.mixup needs a data set of images; the fields of this one are {}: "
                  "leave algorithms.mixup out",
                  batch.fields.names()));
}

}  // namespace

void mix_images(train::Batch& batch, const MixedBy& by) {
  batch.fields.set(train::kImages, mix(images_of(batch), by.partners, by.mixtures));
}

void mix_targets(train::Batch& batch, std::int64_t num_classes, const MixedBy& by) {
  const at::Tensor targets =
      nn::as_probabilities(train::targets_of(batch), num_classes, at::kFloat);
  batch.fields.set(train::kTargets, mix(targets, by.partners, by.mixtures));
}

void mix_losses(train::TrainState& state, const MixedBy& by) {
  train::Batch other = state.batch;
  other.fields.set(train::kTargets, train::targets_of(state.batch).index_select(0, by.partners));
  const double share = by.mixtures.front().share;
  state.loss = (1.0 - share) * state.loss + share * state.task->loss(state.outputs, other);
}

void Mixup::apply(train::Event event, train::TrainState& state, const train::RunContext& /*run*/) {
  if (event == train::Event::kPrepared) {
    const train::ClassificationTask& task = classification_of(*state.task);
    if (config_.interpolate_loss) return;
    require_probabilities(task);
    num_classes_ = classes_of(task.network());
  } else if (event == train::Event::kStepStart) {
    transfers_.clear();
    mixed_.clear();
    kept_ = num_mixed_ = 0;
  } else if (state.batch.size > 0) {  // a ragged batch may leave a rank without samples
    mix_losses(state, mixed_.at(state.batch.first_position));
  }
}

std::uint64_t Mixup::copied_bytes(const train::TrainState& /*state*/,
                                  const train::FieldBytes& field_bytes) const {
  const auto images = field_bytes.find(train::kImages);
  return images == field_bytes.end() ? 0 : images->second;
}

void Mixup::transform(train::Batch& batch, train::TrainState& state, const train::RunContext& run) {
  const at::NoGradGuard no_grad;
  MixedBy by = draw(batch, state.clock.step, run);
  mix_images(batch, by);
  if (config_.interpolate_loss) {
    mixed_[batch.first_position] = std::move(by);
  } else {
    mix_targets(batch, num_classes_, by);
  }
}

MixedBy Mixup::draw(const train::Batch& batch, std::int64_t step, const train::RunContext& run) {
  MixedBy by{draw_mixtures(config_, run.seed, step, batch.first_position, batch.size), {}};
  by.partners = send_partners(by.mixtures, batch.size, run.device);
  for (const Mixture& mixture : by.mixtures) {
    const auto count = static_cast<double>(mixture.partners.size());
    kept_ += count * (1.0 - mixture.share);
    num_mixed_ += count;
  }
  return by;
}

at::Tensor Mixup::send_partners(std::span<const Mixture> mixtures, std::int64_t size,
                                tensor::Device& device) {
  const std::size_t number = transfers_.size();
  if (number == rows_.size()) rows_.emplace_back();
  at::Tensor& memory = rows_[number];
  if (!memory.defined() || memory.numel() < size)
    memory = tensor::host_zeros(size, at::kLong, device);
  const at::Tensor rows = memory.narrow(0, 0, size);
  write_partners(mixtures, rows);
  transfers_.push_back(device.start_transfer({rows}));
  return transfers_.back()->take().front();
}

std::unique_ptr<train::Algorithm> make(const MixupConfig& config) {
  return std::make_unique<Mixup>(config);
}

}  // namespace paceline::algorithms
