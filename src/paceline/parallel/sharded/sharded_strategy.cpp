#include "paceline/parallel/sharded/sharded_strategy.h"

#include "paceline/base/error.h"
#include "paceline/parallel/replica_consistency.h"
#include "paceline/parallel/sharded/sharded_frozen_module.h"
#include "paceline/parallel/sharded/sharded_memory.h"
#include "paceline/parallel/sharded/sharded_state.h"
#include "paceline/tensor/torch.h"

namespace paceline::parallel {
namespace {

KeepFull keep_full_of(const ShardedConfig& config) {
  return config.reshard_after_forward ? KeepFull::kUntilForwardEnds : KeepFull::kUntilBackwardEnds;
}

}  // namespace

ShardedStrategy::ShardedStrategy(const ShardingPlan& plan, const ShardedConfig& config,
                                 comm::Communicator& communicator)
    : plan_(plan), config_(config), groups_(communicator, plan.shard_group_size) {}

void ShardedStrategy::prepare(torch::nn::Module& module, std::span<const GroupRule> rules,
                              const FillValues& fill) {
  PACELINE_CHECK(!layout_, "a strategy is prepared once");
  trainable_parameters(module);  // throws if there is none
  buffers_ = module_buffers(module);
  state_ = module_state(module);
  group_settings_ = empty_groups(rules);
  const bool keeps_full = plan_.keep_full == KeepFull::kAlways;
  layout_.emplace(module, rules, fill, config_, keeps_full, groups_);
  broadcast_from_first_rank(buffers_, groups_.world());
  schedule_.emplace(*layout_, schedule_options(), groups_.replicas());
}

std::unique_ptr<FrozenModule> ShardedStrategy::hold_frozen(const torch::nn::Module& module,
                                                           const FillValues& fill) {
  if (plan_.keep_full == KeepFull::kAlways) return Strategy::hold_frozen(module, fill);
  return std::make_unique<ShardedFrozenModule>(module, fill, config_, groups_, frozen_exposed_s_);
}

ScheduleOptions ShardedStrategy::schedule_options() const {
  return {.keep_full = plan_.keep_full,
          .prefetch = static_cast<std::size_t>(config_.prefetch),
          .accumulates_full_gradients = plan_.accumulates_full_gradients ||
                                        !config_.reduce_every_microbatch ||
                                        groups_.shards().world_size() == 1};
}

std::vector<optim::ParamGroup> ShardedStrategy::param_groups() {
  return fill_groups(group_settings_, *layout_);
}

optim::ParameterShards ShardedStrategy::parameter_shards() const {
  const comm::Communicator& ranks = groups_.shards();
  optim::ParameterShards shards{.rank = ranks.rank(),
                                .world_size = ranks.world_size(),
                                .device = layout_->grad_shards().front().device(),
                                .is_writer = groups_.world().rank() == 0,
                                .sum = [this](const at::Tensor& values) {
                                  reduce_over_shards(values, comm::ReduceOp::kSum,
                                                     "parts of parameters");
                                }};
  for (std::size_t number = 0; number < layout_->trained().size(); ++number) {
    const ShardPlace& place = layout_->place_of_trained(number);
    const ShardedFlat& flat = layout_->flat_at(place);
    const tensor::TensorSpec& spec = flat.layout().slots[place.slot].spec;
    shards.parameters.push_back({spec.sizes, flat.shard().scalar_type(),
                                 static_cast<std::size_t>(spec.group),
                                 tensor::memory_order(spec.sizes, spec.strides), spec.name});
  }
  return shards;
}

void ShardedStrategy::freeze(const std::set<std::string>& names) {
  if (plan_.keep_full != KeepFull::kAlways) refuse_part_of_unit(names);
  freeze_only(layout_->trained(), names);
  schedule_->follow_trainable();
}

void ShardedStrategy::refuse_part_of_unit(const std::set<std::string>& names) const {
  std::vector<std::vector<std::string>> frozen(layout_->units().size());
  std::vector<std::vector<std::string>> trained(frozen.size());
  for (std::size_t i = 0; i < layout_->trained().size(); ++i) {
    const std::string& name = layout_->trained()[i].name;
    (names.contains(name) ? frozen : trained)[layout_->place_of_trained(i).unit].push_back(name);
  }
  for (std::size_t unit = 0; unit < frozen.size(); ++unit) {
    if (frozen[unit].empty() || trained[unit].empty()) continue;
    throw base::ConfigError(fmt::format(
        "strategy {} freezes whole units, and of unit '{}' it would freeze {} but not {}: freeze "
        "all or none of it, cut other units by parallel.fsdp.units and min_unit_params, or use "
        "parallel.strategy zero2, which freezes any parameter",
        plan_.name, layout_->units()[unit]->name(), list_names(frozen[unit]),
        list_names(trained[unit])));
  }
}

void ShardedStrategy::begin_microbatch(bool is_first, bool is_last) {
  if (is_first) {
    layout_->check_views();
    frozen_exposed_s_ = 0;
  }
  schedule_->begin_microbatch(is_first, is_last);
}

MissingGradients ShardedStrategy::missing_gradients() const {
  MissingGradients missing{.names = {}, .demand = {"fsdp"}};
  if (!config_.allow_unused_parameters) missing.names = schedule_->without_gradient();
  return missing;
}

void ShardedStrategy::reduce_over_shards(const at::Tensor& values, comm::ReduceOp op,
                                         std::string_view label) const {
  groups_.shards().all_reduce(values, op, label)->wait();
}

void ShardedStrategy::synchronise_buffers() {
  if (config_.buffers == BufferPolicy::kBroadcast)
    broadcast_from_first_rank(buffers_, groups_.world());
}

std::vector<StateShard> ShardedStrategy::model_state() const {
  std::vector<StateShard> shards = model_shards(*layout_, state_, config_.buffers, groups_);
  if (config_.buffers == BufferPolicy::kKeep) append_own_buffers(shards, buffers_, groups_.world());
  return shards;
}

std::vector<StateShard> ShardedStrategy::cut_by_parameter(
    const std::string& prefix, std::span<const at::Tensor> tensors) const {
  return parallel::cut_by_parameter(*layout_, prefix, tensors, groups_);
}

StrategyMemory ShardedStrategy::memory(int num_microbatches) const {
  StrategyMemory memory = sharded_memory(*layout_, schedule_->options(), num_microbatches);
  memory.parameters += bytes_of(buffers_);
  return memory;
}

std::unique_ptr<Strategy> make_fsdp(const ShardedConfig& config, comm::Communicator& communicator) {
  return std::make_unique<ShardedStrategy>(
      ShardingPlan{.name = "fsdp", .keep_full = keep_full_of(config)}, config, communicator);
}

std::unique_ptr<Strategy> make_hsdp(const ShardedConfig& config, int shard_group_size,
                                    comm::Communicator& communicator) {
  return std::make_unique<ShardedStrategy>(
      ShardingPlan{
          .name = "hsdp", .keep_full = keep_full_of(config), .shard_group_size = shard_group_size},
      config, communicator);
}

std::unique_ptr<Strategy> make_zero1(const ShardedConfig& config,
                                     comm::Communicator& communicator) {
  return std::make_unique<ShardedStrategy>(
      ShardingPlan{
          .name = "zero1", .keep_full = KeepFull::kAlways, .accumulates_full_gradients = true},
      config, communicator);
}

std::unique_ptr<Strategy> make_zero2(const ShardedConfig& config,
                                     comm::Communicator& communicator) {
  return std::make_unique<ShardedStrategy>(
      ShardingPlan{.name = "zero2", .keep_full = KeepFull::kAlways}, config, communicator);
}

}  // namespace paceline::parallel
