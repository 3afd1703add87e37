#include "paceline/algorithms/mixing/mixing.h"

#include "paceline/algorithms/microbatch/images.h"
#include "paceline/base/error.h"
#include "paceline/nn/loss_targets.h"
#include "paceline/nn/network_parts.h"
#include "paceline/train/run_context.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/train_state.h"

#include <string_view>
#include <utility>

namespace paceline::algorithms {
namespace {

const train::ClassificationTask& classification_of(const train::Task& task,
                                                   std::string_view algorithm) {
  if (const auto* const found = dynamic_cast<const train::ClassificationTask*>(&task))
    return *found;
  throw base::ConfigError(
      fmt::format("algorithms.{0} mixes the class labels of task classification, and this run has "
                  "another task: leave algorithms.{0} out",
                  algorithm));
}

void require_probabilities(const train::ClassificationTask& task, std::string_view algorithm) {
  if (task.loss_of_targets().takes_probabilities()) return;
  throw base::ConfigError(
      fmt::format("algorithms.{0} gives each sample a probability for every class, and the "
                  "recipe's loss takes class indices only: choose another loss, or write "
                  "algorithms.{0}.interpolate_loss=true",
                  algorithm));
}

std::int64_t classes_of(const nn::Network& network, std::string_view algorithm) {
  if (const auto count = nn::num_outputs(network)) return *count;
  throw base::ConfigError(
      fmt::format("algorithms.{0} gives each sample a probability for every class, and this "
                  "network does not say which of its layers gives the logits: override "
                  "Network::head_names(), or write algorithms.{0}.interpolate_loss=true",
                  algorithm));
}

}  // namespace

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

train::AlgorithmTraits Mixing::traits() const {
  using enum train::Event;
  return {.events = options_.interpolate_loss ? train::EventSet{kPrepared, kStepStart, kAfterLoss}
                                              : train::EventSet{kPrepared, kStepStart},
          .order = options_.order,
          .replaces_loss = options_.interpolate_loss,
          .transforms_batches = true,
          .may_come_or_go = true,
          .scalars = {"lambda"}};
}

std::uint64_t Mixing::copied_bytes(const train::TrainState& /*state*/,
                                   const train::FieldBytes& field_bytes) const {
  return bytes_of_images(field_bytes);
}

void Mixing::take_turns(Turns turns, TurnOf which) {
  turns_ = turns;
  turn_of_ = which;
}

void Mixing::apply(train::Event event, train::TrainState& state, const train::RunContext& /*run*/) {
  if (event == train::Event::kPrepared) {
    const train::ClassificationTask& task = classification_of(*state.task, name());
    if (options_.interpolate_loss) return;
    require_probabilities(task, name());
    num_classes_ = classes_of(task.network(), name());
  } else if (event == train::Event::kStepStart) {
    sender_.begin_step();
    mixed_.clear();
    kept_ = num_seen_ = 0;
  } else if (state.batch.size > 0) {  // a ragged batch may leave a rank without samples
    const MixedBy& by = mixed_.at(state.batch.first_position);
    if (by.partners.defined()) mix_losses(state, by);
  }
}

void Mixing::transform(train::Batch& batch, train::TrainState& state,
                       const train::RunContext& run) {
  const at::NoGradGuard no_grad;
  MixedBy by = draw_all(batch, state.clock.step, run);
  if (by.partners.defined()) {
    batch.fields.set(train::kImages, mixed(images_of(batch, name()), by));
    if (!options_.interpolate_loss) mix_targets(batch, num_classes_, by);
  }
  if (options_.interpolate_loss) mixed_[batch.first_position] = std::move(by);
}

MixedBy Mixing::draw_all(const train::Batch& batch, std::int64_t step,
                         const train::RunContext& run) {
  const at::Tensor& images = images_of(batch, name());
  MixedBy by;
  bool mixes = false;
  for (const SampleGroup& group : sample_groups(batch, step, run, options_.group)) {
    const bool is_mixed = has_turn(turns_, turn_of_, group.key);
    by.mixtures.push_back(is_mixed ? draw(group, images) : no_mixture(group));
    mixes = mixes || is_mixed;
    const auto count = static_cast<double>(group.count);
    kept_ += count * (1.0 - by.mixtures.back().share);
    num_seen_ += count;
  }
  if (mixes) by.partners = sender_.send(partner_rows(by.mixtures), run.device);
  return by;
}

}  // namespace paceline::algorithms
