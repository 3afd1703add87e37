// How ShardedStrategy cuts a model into units.

#include "paceline/base/error.h"
#include "paceline/parallel/same_start.h"
#include "paceline/parallel/sharded/sharded_gate.h"
#include "paceline/parallel/sharded/sharded_strategy.h"
#include "paceline/tensor/dtype.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace paceline::parallel {
namespace {

using Blocks = std::vector<nn::NamedUnit>;

std::int64_t num_parameters(const nn::NamedUnit& block) {
  std::int64_t count = 0;
  for (const NamedTensor& named : nn::named_parameters(*block.unit)) count += named.tensor.numel();
  return count;
}

/// The blocks that the configuration names, or all.
Blocks wanted_blocks(const torch::nn::Module& module, const ShardedConfig& config) {
  Blocks blocks = nn::units(module);
  if (config.units.empty()) return blocks;
  for (const std::string& name : config.units) {
    if (std::ranges::find(blocks, name, &nn::NamedUnit::name) == blocks.end()) {
      std::vector<std::string> names;
      for (const nn::NamedUnit& block : blocks) names.push_back(block.name);
      throw base::ConfigError(fmt::format(
          "parallel.fsdp.units names '{}', which is no block of the model; its blocks are {}", name,
          names.empty() ? "none" : list_names(names)));
    }
  }
  std::erase_if(blocks, [&](const nn::NamedUnit& block) {
    return std::ranges::find(config.units, block.name) == config.units.end();
  });
  return blocks;
}

/// Neighbouring blocks together until they hold `min_params`.
std::vector<Blocks> group_blocks(Blocks blocks, std::int64_t min_params) {
  std::vector<Blocks> groups;
  std::int64_t held = min_params;  // the first block opens a group
  for (nn::NamedUnit& block : blocks) {
    if (groups.empty() || held >= min_params) {
      groups.emplace_back();
      held = 0;
    }
    held += num_parameters(block);
    groups.back().push_back(std::move(block));
  }
  return groups;
}

/// The unit of every parameter: that of its block; the last one, `root`, if it lies in none or in
/// several places of different units.
std::unordered_map<const void*, std::size_t> owners(const torch::nn::Module& module,
                                                    const std::vector<Blocks>& groups) {
  const std::size_t root = groups.size();
  std::unordered_map<std::string, std::size_t> group_of;
  for (std::size_t number = 0; number < groups.size(); ++number) {
    for (const nn::NamedUnit& block : groups[number]) {
      for (const NamedTensor& named : nn::named_parameters(*block.unit))
        group_of.emplace(block.name + '.' + named.name, number);
    }
  }
  std::unordered_map<const void*, std::size_t> owner;
  for (const NamedTensor& named : nn::named_parameters(module)) {
    const auto group = group_of.find(named.name);
    const std::size_t unit = group == group_of.end() ? root : group->second;
    const auto [found, is_new] = owner.emplace(named.tensor.unsafeGetTensorImpl(), unit);
    if (!is_new && found->second != unit) found->second = root;
  }
  return owner;
}

/// For each group, whether a trained parameter is registered before its last one.
std::vector<char> reached_by_backward(const torch::nn::Module& module,
                                      const std::vector<Blocks>& groups,
                                      const std::unordered_map<const void*, std::size_t>& owner) {
  std::vector<char> reached(groups.size(), 0);
  bool any_trained = false;
  for (const NamedTensor& named : nn::named_parameters(module)) {
    any_trained = any_trained || named.tensor.requires_grad();
    const std::size_t unit = owner.at(named.tensor.unsafeGetTensorImpl());
    if (unit < groups.size()) reached[unit] = any_trained;
  }
  return reached;
}

at::ScalarType dtype_of(ShardDtype dtype) {
  switch (dtype) {
    case ShardDtype::kFloat32:
      return at::kFloat;
    case ShardDtype::kBFloat16:
      return at::kBFloat16;
    case ShardDtype::kFloat16:
      return at::kHalf;
  }
  throw base::InternalError("unknown ShardDtype");
}

}  // namespace

void ShardedStrategy::prepare(torch::nn::Module& module, std::span<const GroupRule> rules,
                              const FillValues& fill) {
  PACELINE_CHECK(units_.empty(), "a strategy is prepared once");
  std::vector<NamedTensor> parameters = trainable_parameters(module);
  for (NamedTensor& named : frozen_parameters(module)) parameters.push_back(std::move(named));
  buffers_ = module_buffers(module);
  state_ = module_state(module);
  group_settings_ = empty_groups(rules);

  const std::vector<Blocks> groups =
      group_blocks(wanted_blocks(module, config_), config_.min_unit_params);
  const auto owner = owners(module, groups);
  has_backward_ = reached_by_backward(module, groups, owner);
  std::vector<std::vector<NamedTensor>> members(groups.size() + 1);
  for (NamedTensor& named : parameters) {
    members[owner.at(named.tensor.unsafeGetTensorImpl())].push_back(std::move(named));
  }
  BlockObserver& observer = *this;
  for (std::size_t number = 0; number < groups.size(); ++number) {
    units_.push_back(std::make_unique<ShardUnit>(groups[number].front().name));
    for (std::size_t i = 0; i < groups[number].size(); ++i) {
      gates_.push_back(
          std::make_shared<ShardGate>(observer, number, i == 0, i + 1 == groups[number].size()));
      groups[number][i].unit->wrap(gates_.back());
    }
  }
  units_.push_back(std::make_unique<ShardUnit>("what lies in no block"));
  for (std::size_t unit = 0; unit < units_.size(); ++unit)
    fill_unit(unit, members[unit], rules, fill);
  for (std::size_t unit = num_blocks(); unit-- > 0;) {
    if (units_[unit]->is_trainable()) reductions_.push_back(units_[unit].get());
  }
  if (root().is_trainable()) reductions_.push_back(&root());
  for (const ShardUnit* trained : reductions_) {
    for (const auto& flat : trained->flats()) {
      if (flat->is_trainable()) grad_shards_.push_back(flat->grad_shard());
    }
  }
  broadcast_from_first_rank(buffers_, world_);
  hooks_.emplace(trained_, [this](std::size_t i, at::Tensor& grad) { take_gradient(i, grad); });
}

void ShardedStrategy::fill_unit(std::size_t unit, std::span<const NamedTensor> parameters,
                                std::span<const GroupRule> rules, const FillValues& fill) {
  struct Members {
    std::vector<NamedTensor> parameters;
    std::vector<tensor::TensorSpec> specs;
  };
  std::map<std::tuple<bool, bool, std::string>, Members> by_kind;  // frozen, cast, dtype
  std::vector<tensor::TensorSpec> all;
  for (const NamedTensor& named : parameters) {
    const bool is_frozen = !named.tensor.requires_grad();
    const std::size_t group = is_frozen ? 0 : optim::match_rule(rules, named.name, named.tensor);
    all.push_back(tensor::describe(named.name, named.tensor, static_cast<std::int64_t>(group)));
    // As under autocast, norms, biases and embeddings that are added ([1, ...]) keep their type.
    const bool is_cast = config_.param_dtype && named.tensor.dim() >= 2 && named.tensor.size(0) > 1;
    Members& kind = by_kind[{is_frozen, is_cast, all.back().dtype}];
    kind.parameters.push_back(named);
    kind.specs.push_back(all.back());
  }
  check_ranks_agree(all, world_);
  for (auto& [kind, members] : by_kind) {
    const auto& [is_frozen, is_cast, dtype] = kind;
    const at::ScalarType own = tensor::dtype_from_name(dtype);
    auto flat = std::make_unique<ShardedFlat>(
        members.parameters, members.specs, fill, world_, shard_group(),
        ShardedFlatOptions{
            .is_trainable = !is_frozen,
            .keeps_full = plan_.keep_full == KeepFull::kAlways,
            .param_dtype = is_cast ? dtype_of(*config_.param_dtype) : own,
            .reduce_dtype = config_.reduce_dtype ? dtype_of(*config_.reduce_dtype) : own});
    const std::size_t number = units_[unit]->flats().size();
    for (std::size_t slot = 0; slot < flat->parameters().size(); ++slot) {
      const NamedTensor& named = flat->parameters()[slot];
      place_of_.emplace(named.tensor.unsafeGetTensorImpl(), Place{unit, number, slot});
      if (!flat->is_trainable()) continue;
      trained_.push_back(named);
      places_.push_back({unit, number, slot});
    }
    units_[unit]->add(std::move(flat));
  }
}

}  // namespace paceline::parallel
