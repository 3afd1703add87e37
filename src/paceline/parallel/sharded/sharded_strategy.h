#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/parallel/sharded/shard_groups.h"
#include "paceline/parallel/sharded/sharded_config.h"
#include "paceline/parallel/sharded/sharded_layout.h"
#include "paceline/parallel/sharded/sharded_schedule.h"
#include "paceline/parallel/sharded/sharding_plan.h"
#include "paceline/parallel/strategy.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::parallel {

/// The strategies "zero1", "zero2", "fsdp" and "hsdp": optimizer state, gradients and parameters
/// are cut into equal pieces over the ranks of a shard group, unit by unit.
///
/// A unit (a block of the model, or all that lies in none) is gathered before its forward pass,
/// freed after it, and gathered again for backward; when all its gradients are there they are
/// reduced and scattered while backward runs on. The next units are gathered meanwhile. Groups of
/// ranks that each hold the whole model (HSDP) add up their shards of gradients at the end of the
/// step. Papers: Rajbhandari et al., "ZeRO", SC 2020; Zhao et al., "PyTorch FSDP", VLDB 2023.
class ShardedStrategy final : public Strategy {
 public:
  /// `communicator` must outlive the strategy. Every rank must call it.
  ShardedStrategy(const ShardingPlan& plan, const ShardedConfig& config,
                  comm::Communicator& communicator);

  std::string_view name() const override { return plan_.name; }
  using Strategy::prepare;
  void prepare(torch::nn::Module& module, std::span<const GroupRule> rules,
               const FillValues& fill) override;
  std::unique_ptr<FrozenModule> hold_frozen(const torch::nn::Module& module,
                                            const FillValues& fill) override;
  std::span<const NamedTensor> parameters() const override { return layout_->trained(); }
  std::vector<optim::ParamGroup> param_groups() override;
  optim::ParameterShards parameter_shards() const override;
  void begin_microbatch(bool is_first, bool is_last) override;
  void backward(const at::Tensor& loss, double weight) override {
    schedule_->backward(loss, weight);
  }
  void backward_nothing() override { schedule_->backward_nothing(); }
  void finish_gradients() override { schedule_->finish_gradients(); }
  MissingGradients missing_gradients() const override;
  std::span<const at::Tensor> gradients() override { return layout_->grad_shards(); }
  void reduce_over_shards(const at::Tensor& values, comm::ReduceOp op,
                          std::string_view label) const override;
  void begin_passes() override { schedule_->gather_root(); }
  void begin_free_passes() override { schedule_->hold_all(); }
  void forward_nothing() override { schedule_->forward_nothing(); }
  void end_passes() override { schedule_->release_all(); }
  void synchronise_buffers() override;
  std::vector<StateShard> model_state() const override;
  std::vector<StateShard> cut_by_parameter(const std::string& prefix,
                                           std::span<const at::Tensor> tensors) const override;
  void state_was_loaded() override { schedule_->expire(); }
  StrategyMemory memory(int num_microbatches) const override;
  double exposed_communication_s() const override {
    return schedule_->exposed_s() + frozen_exposed_s_;
  }

  /// After prepare(), which fixes it.
  const ShardedLayout& layout() const { return *layout_; }

 protected:
  void freeze(const std::set<std::string>& names) override;

 private:
  void refuse_part_of_unit(const std::set<std::string>& names) const;
  ScheduleOptions schedule_options() const;

  ShardingPlan plan_;
  ShardedConfig config_;
  ShardGroups groups_;
  std::vector<NamedTensor> state_;  // for saving, in the order of state_dict
  std::vector<NamedTensor> buffers_;
  std::vector<optim::ParamGroup> group_settings_;  // without slots, one for each rule
  std::optional<const ShardedLayout> layout_;
  std::optional<ShardedSchedule> schedule_;
  double frozen_exposed_s_ = 0;  // in this step, of modules that are held frozen
};

/// Throws ConfigError when the shard group's size does not divide the number of ranks.
std::unique_ptr<Strategy> make_fsdp(const ShardedConfig& config, comm::Communicator& communicator);
/// Shards within groups of `shard_group_size` neighbouring ranks, replicates across them.
std::unique_ptr<Strategy> make_hsdp(const ShardedConfig& config, int shard_group_size,
                                    comm::Communicator& communicator);
std::unique_ptr<Strategy> make_zero1(const ShardedConfig& config, comm::Communicator& communicator);
std::unique_ptr<Strategy> make_zero2(const ShardedConfig& config, comm::Communicator& communicator);

}  // namespace paceline::parallel
