#include "paceline/algorithms/layer_freezing/layer_freezing.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/nn/conv.h"
#include "paceline/nn/factors/factors.h"
#include "paceline/nn/module_tree.h"
#include "paceline/nn/network_parts.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <set>

namespace paceline::algorithms {
namespace {

void append_layers(const torch::nn::Module& module, const std::string& prefix,
                   std::vector<std::vector<std::string>>& layers) {
  const auto children = module.named_children();
  const auto own = module.named_parameters(/*recurse=*/false);
  const std::string to_latent(nn::kToLatent);
  const auto* const first_factor = children.find(to_latent);
  const bool is_layer = children.is_empty() || first_factor != nullptr ||
                        dynamic_cast<const nn::Conv2d*>(&module) != nullptr;
  if (first_factor != nullptr)  // computes first
    append_layers(**first_factor, prefix + to_latent + ".", layers);
  if (is_layer && !own.is_empty()) {
    layers.emplace_back();
    for (const auto& parameter : own) layers.back().push_back(prefix + parameter.key());
  }
  for (const auto& child : children) {
    if (child.key() != to_latent) append_layers(*child.value(), prefix + child.key() + ".", layers);
  }
}

std::vector<std::vector<std::string>> parameters_by_part(const nn::Network& network,
                                                         const std::vector<std::string>& patterns) {
  std::vector<std::vector<std::string>> parts;
  for (const std::string& pattern : patterns) {
    try {
      const nn::NetworkPart part(network, pattern);
      std::vector<std::string>& names = parts.emplace_back();
      for (const nn::NamedTensor& parameter : nn::named_parameters(network)) {
        if (part.holds(parameter.name)) names.push_back(parameter.name);
      }
    } catch (const base::ConfigError& error) {
      throw base::ConfigError(fmt::format("algorithms.layer_freezing.parts: {}", error.what()));
    }
  }
  return parts;
}

}  // namespace

std::vector<std::vector<std::string>> parameters_by_layer(const torch::nn::Module& network) {
  std::vector<std::vector<std::string>> layers;
  append_layers(network, "", layers);
  return layers;
}

void LayerFreezing::apply(train::Event /*event*/, train::TrainState& state,
                          const train::RunContext& run) {
  // Memory is estimated without a run, in which an epoch has no steps.
  if (state.clock.lengths.steps_per_epoch == 0) return;
  if (layers_.empty()) {
    const nn::Network& network = state.task->network();
    layers_ = config_.parts.empty() ? parameters_by_layer(network)
                                    : parameters_by_part(network, config_.parts);
    try_all(state);
  }
  const std::int64_t before = num_frozen_;
  num_frozen_ = num_frozen_after(state.clock.epoch(), state.clock.lengths);
  freeze(num_frozen_, state);
  if (num_frozen_ > before && run.is_main_rank())
    base::log_info("layer_freezing: {} of {} {} rest from step {} on", num_frozen_, layers_.size(),
                   config_.parts.empty() ? "layers" : "parts", state.clock.step);
}

std::int64_t LayerFreezing::num_frozen_after(std::int64_t epoch,
                                             const config::StepLengths& lengths) const {
  if (config_.after) {
    const bool is_past = epoch * lengths.steps_per_epoch >= to_steps(*config_.after, lengths);
    return is_past ? std::ssize(layers_) : 0;
  }
  const double elapsed = static_cast<double>(epoch * lengths.steps_per_epoch) /
                         static_cast<double>(lengths.total_steps);
  if (elapsed <= config_.freeze_start) return 0;
  const double share =
      config_.freeze_level * ((elapsed - config_.freeze_start) / (1 - config_.freeze_start));
  return static_cast<std::int64_t>(share * static_cast<double>(layers_.size() - 1));
}

// What a strategy cannot leave out should end the run now and not in the middle.
void LayerFreezing::try_all(train::TrainState& state) const {
  const config::StepLengths& lengths = state.clock.lengths;
  if (lengths.total_steps == 0 && config_.after) return freeze(std::ssize(layers_), state);
  if (lengths.total_steps == 0) {
    throw base::ConfigError(
        "algorithms.layer_freezing counts shares of the run, whose length is not known in steps: "
        "give train.duration in ep, ba or sp");
  }
  std::set<std::int64_t> numbers;
  for (std::int64_t epoch = 1; epoch * lengths.steps_per_epoch < lengths.total_steps; ++epoch)
    numbers.insert(num_frozen_after(epoch, lengths));
  const bool none = numbers.empty() || *numbers.rbegin() == 0;
  if (none && config_.after) {
    throw base::ConfigError(fmt::format(
        "algorithms.layer_freezing: no epoch ends at or past after ({}) and before the last of {} "
        "steps, so that its parts would never rest: let after be less, train longer, or take it "
        "out",
        config_.after->to_string(), lengths.total_steps));
  }
  if (none) {
    throw base::ConfigError(
        fmt::format("algorithms.layer_freezing would freeze none of {} layers after any epoch "
                    "before the last of {} steps: let freeze_start be less, train longer, or take "
                    "it out",
                    layers_.size(), lengths.total_steps));
  }
  for (const std::int64_t number : numbers) freeze(number, state);
}

void LayerFreezing::freeze(std::int64_t num_frozen, train::TrainState& state) const {
  std::set<std::string> frozen;
  for (std::int64_t i = 0; i < num_frozen; ++i) {
    const std::vector<std::string>& names = layers_[static_cast<std::size_t>(i)];
    frozen.insert(names.begin(), names.end());
  }
  try {
    state.strategy->set_trainable([&](const std::string& name) { return !frozen.contains(name); });
  } catch (const base::ConfigError& error) {
    throw base::ConfigError(fmt::format("algorithms.layer_freezing: {}", error.what()));
  }
}

std::unique_ptr<train::Algorithm> make(const LayerFreezingConfig& config) {
  return std::make_unique<LayerFreezing>(config);
}

}  // namespace paceline::algorithms
