#include "paceline/parallel/strategy.h"

#include "paceline/base/error.h"
#include "paceline/parallel/frozen_module.h"
#include "paceline/parallel/named_tensors.h"
#include "paceline/tensor/aten.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace paceline::parallel {

std::vector<optim::ParamGroup> empty_groups(std::span<const GroupRule> rules) {
  std::vector<optim::ParamGroup> groups;
  for (const GroupRule& rule : rules) {
    groups.push_back(
        {.name = rule.name, .weight_decay = rule.weight_decay, .lr_scale = rule.lr_scale});
    groups.back().is_matrix = rule.is_matrix;
  }
  return groups;
}

std::unique_ptr<FrozenModule> Strategy::hold_frozen(const torch::nn::Module& module,
                                                    const FillValues& fill) {
  return std::make_unique<WholeFrozenModule>(module, fill);
}

void Strategy::end_own_pass() {
  throw base::ConfigError(
      fmt::format("strategy {} reduces gradients as they come: no rank has its own", name()));
}

void Strategy::set_trainable(const IsTrained& is_trained) {
  std::set<std::string> frozen;
  for (const NamedTensor& parameter : parameters()) {
    if (!is_trained(parameter.name)) frozen.insert(parameter.name);
  }
  if (frozen == frozen_) return;
  if (frozen.size() == parameters().size())
    throw base::ConfigError("every parameter would be frozen: leave one to train");
  if (!fixed_by_.empty()) {
    throw base::ConfigError(
        fmt::format("which parameters are trained cannot change: {}", fixed_by_));
  }
  freeze(frozen);
  frozen_ = std::move(frozen);
  frozen_parts_.clear();
}

void Strategy::train_only(std::span<const std::string> names) {
  const std::set<std::string> wanted(names.begin(), names.end());
  std::set<std::string> unknown = wanted;
  for (const NamedTensor& parameter : parameters()) unknown.erase(parameter.name);
  if (!unknown.empty()) {
    throw base::ConfigError(
        fmt::format("{}: no parameters that this run trains; a frozen one (model.freeze) has no "
                    "gradients to go on with",
                    list_names(std::vector(unknown.begin(), unknown.end()))));
  }
  set_trainable([&](const std::string& name) { return wanted.contains(name); });
}

std::vector<at::Tensor> Strategy::frozen_parts(const optim::Optimizer& optimizer) {
  if (frozen_.empty() || !frozen_parts_.empty()) return frozen_parts_;
  const auto add_frozen = [&](const std::vector<StateShard>& shards) {
    for (const StateShard& shard : shards) {
      if (frozen_.contains(shard.name)) frozen_parts_.push_back(shard.data);
    }
  };
  std::vector<at::Tensor> values;
  for (const optim::ParamGroup& group : param_groups()) {
    for (const optim::ParamSlot& slot : group.slots) values.push_back(slot.param.detach());
  }
  add_frozen(cut_by_parameter("", values));
  for (const optim::SlotState& state : optimizer.state())
    add_frozen(cut_by_parameter("", state.tensors));
  for (const optim::ParameterState& state : optimizer.parameter_state())
    add_frozen(whole_parts("", state));
  return frozen_parts_;
}

void Strategy::update(optim::Optimizer& optimizer, double lr, const at::Tensor& skip) {
  const at::NoGradGuard no_grad;
  std::vector<std::pair<at::Tensor, at::Tensor>> kept;
  for (const at::Tensor& part : frozen_parts(optimizer)) kept.emplace_back(part, part.clone());
  step(optimizer, lr, skip);
  for (const auto& [part, value] : kept) part.copy_(value);
}

std::vector<StateShard> Strategy::optimizer_state(const optim::Optimizer& optimizer) const {
  std::vector<StateShard> shards;
  const auto add = [&](std::vector<StateShard> more) {
    std::ranges::move(more, std::back_inserter(shards));
  };
  for (const optim::SlotState& state : optimizer.state())
    add(cut_by_parameter(fmt::format("optimizer.{}/", state.name), state.tensors));
  for (const optim::ParameterState& state : optimizer.parameter_state())
    add(whole_parts(fmt::format("optimizer.{}/", state.name), state));
  add(gradient_state());
  return shards;
}

std::vector<StateShard> Strategy::whole_parts(const std::string& prefix,
                                              const optim::ParameterState& state) const {
  const optim::ParameterShards ranks = parameter_shards();
  std::vector<StateShard> parts;
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    const at::Tensor& tensor = state.tensors[i];
    if (!tensor.defined()) continue;
    parts.push_back({.name = prefix + ranks.parameters[i].name,
                     .data = tensor,
                     .shape = tensor.sizes().vec(),
                     .begin = 0,
                     .end = tensor.numel(),
                     .is_writer = ranks.is_writer});
  }
  return parts;
}

}  // namespace paceline::parallel
