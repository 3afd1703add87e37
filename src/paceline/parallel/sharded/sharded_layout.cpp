#include "paceline/parallel/sharded/sharded_layout.h"

#include "paceline/base/error.h"
#include "paceline/parallel/replica_consistency.h"
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

/// Makes units of parameters.
class UnitCutter {
 public:
  UnitCutter(std::span<const GroupRule> rules, const FillValues& fill, const ShardedConfig& config,
             bool keeps_full, const ShardGroups& groups)
      : rules_(rules), fill_(fill), config_(config), keeps_full_(keeps_full), groups_(groups) {}

  std::unique_ptr<ShardUnit> cut(std::string name, std::span<const NamedTensor> parameters) const {
    std::vector<tensor::TensorSpec> all;
    std::map<Kind, Members> by_kind;
    for (const NamedTensor& named : parameters) {
      all.push_back(describe(named));
      Members& members = by_kind[{!named.tensor.requires_grad(), is_cast(named), all.back().dtype}];
      members.parameters.push_back(named);
      members.specs.push_back(all.back());
    }
    check_ranks_agree(all, groups_.world());
    auto unit = std::make_unique<ShardUnit>(std::move(name));
    for (const auto& [kind, members] : by_kind) unit->add(make_flat(kind, members));
    return unit;
  }

 private:
  using Kind = std::tuple<bool, bool, std::string>;  // frozen, cast, dtype
  struct Members {
    std::vector<NamedTensor> parameters;
    std::vector<tensor::TensorSpec> specs;
  };

  tensor::TensorSpec describe(const NamedTensor& named) const {
    const std::size_t group =
        named.tensor.requires_grad() ? optim::match_rule(rules_, named.name, named.tensor) : 0;
    return tensor::describe(named.name, named.tensor, static_cast<std::int64_t>(group));
  }

  /// As under autocast, norms, biases and embeddings that are added ([1, ...]) keep their type.
  bool is_cast(const NamedTensor& named) const {
    return config_.param_dtype && named.tensor.dim() >= 2 && named.tensor.size(0) > 1;
  }

  std::unique_ptr<ShardedFlat> make_flat(const Kind& kind, const Members& members) const {
    const auto& [is_frozen, is_cast, dtype] = kind;
    const at::ScalarType own = tensor::dtype_from_name(dtype);
    return std::make_unique<ShardedFlat>(
        members.parameters, members.specs, fill_, groups_.world(), groups_.shards(),
        ShardedFlatOptions{
            .is_trainable = !is_frozen,
            .keeps_full = keeps_full_,
            .param_dtype = is_cast ? dtype_of(*config_.param_dtype) : own,
            .reduce_dtype = config_.reduce_dtype ? dtype_of(*config_.reduce_dtype) : own});
  }

  std::span<const GroupRule> rules_;
  const FillValues& fill_;
  const ShardedConfig& config_;
  bool keeps_full_;
  const ShardGroups& groups_;
};

}  // namespace

ShardedLayout::ShardedLayout(const torch::nn::Module& module, std::span<const GroupRule> rules,
                             const FillValues& fill, const ShardedConfig& config, bool keeps_full,
                             const ShardGroups& groups)
    : blocks_(group_blocks(wanted_blocks(module, config), config.min_unit_params)) {
  const auto owner = owners(module, blocks_);
  for (const NamedTensor& named : nn::named_parameters(module))
    registered_.emplace_back(named.tensor, owner.at(named.tensor.unsafeGetTensorImpl()));
  std::vector<std::vector<NamedTensor>> members(blocks_.size() + 1);
  for (NamedTensor& named : all_parameters(module)) {
    members[owner.at(named.tensor.unsafeGetTensorImpl())].push_back(std::move(named));
  }
  const UnitCutter cutter(rules, fill, config, keeps_full, groups);
  for (std::size_t block = 0; block < blocks_.size(); ++block)
    units_.push_back(cutter.cut(blocks_[block].front().name, members[block]));
  units_.push_back(cutter.cut("what lies in no block", members.back()));
  number_parameters();
  order_reductions();
}

std::vector<char> ShardedLayout::reached_by_backward() const {
  std::vector<char> reached(num_blocks(), 0);
  bool any_trained = false;
  for (const auto& [parameter, unit] : registered_) {
    any_trained = any_trained || parameter.requires_grad();
    if (unit < reached.size()) reached[unit] = any_trained ? 1 : 0;
  }
  return reached;
}

void ShardedLayout::number_parameters() {
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    for (std::size_t number = 0; number < units_[unit]->flats().size(); ++number) {
      const ShardedFlat& flat = *units_[unit]->flats()[number];
      for (std::size_t slot = 0; slot < flat.parameters().size(); ++slot) {
        const NamedTensor& named = flat.parameters()[slot];
        const ShardPlace place{unit, number, slot};
        place_of_.emplace(named.tensor.unsafeGetTensorImpl(), place);
        if (!flat.is_trainable()) continue;
        trained_.push_back(named);
        places_.push_back(place);
      }
    }
  }
}

void ShardedLayout::order_reductions() {
  for (std::size_t block = num_blocks(); block-- > 0;) {
    if (units_[block]->is_trainable()) reductions_.push_back(units_[block].get());
  }
  if (root().is_trainable()) reductions_.push_back(&root());
  for (const ShardUnit* unit : reductions_) {
    for (const auto& flat : unit->flats()) {
      if (flat->is_trainable()) grad_shards_.push_back(flat->grad_shard());
    }
  }
}

const ShardPlace* ShardedLayout::find(const at::Tensor& tensor) const {
  const auto found = place_of_.find(tensor.unsafeGetTensorImpl());
  return found == place_of_.end() ? nullptr : &found->second;
}

const ShardedFlat& ShardedLayout::flat_at(const ShardPlace& place) const {
  return *units_[place.unit]->flats()[place.flat];
}

void ShardedLayout::check_views() const {
  for (const auto& unit : units_) {
    for (const auto& flat : unit->flats()) flat->check_views();
  }
}

}  // namespace paceline::parallel
