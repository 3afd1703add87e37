#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/parallel/gradient_hooks.h"
#include "paceline/parallel/sharded/shard_unit.h"
#include "paceline/parallel/sharded/sharded_config.h"
#include "paceline/parallel/sharded/sharded_gate.h"
#include "paceline/parallel/strategy.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace paceline::parallel {

/// How long a unit's gathered parameters stay.
enum class KeepFull {
  kUntilForwardEnds,   ///< FSDP: gathered again for backward
  kUntilBackwardEnds,  ///< FSDP without resharding after forward
  kAlways,             ///< ZeRO-1 and ZeRO-2: gathered once a step, never freed
};

/// What tells FSDP, HSDP, ZeRO-1 and ZeRO-2 apart.
struct ShardingPlan {
  std::string_view name;  ///< of a literal
  KeepFull keep_full = KeepFull::kUntilForwardEnds;
  /// Microbatches add up whole gradients, which are reduced once a step; else each is reduced into
  /// the shards.
  bool accumulates_full_gradients = false;
  int shard_group_size = 0;  ///< 0: all ranks
};

/// The strategies "zero1", "zero2", "fsdp" and "hsdp": optimizer state, gradients and parameters
/// are cut into equal pieces over the ranks of a shard group, unit by unit.
///
/// A unit (a block of the model, or all that lies in none) is gathered before its forward pass,
/// freed after it, and gathered again for backward; when all its gradients are there they are
/// reduced and scattered while backward runs on. The next units are gathered meanwhile. Groups of
/// ranks that each hold the whole model (HSDP) add up their shards of gradients at the end of the
/// step. Papers: Rajbhandari et al., "ZeRO", SC 2020; Zhao et al., "PyTorch FSDP", VLDB 2023.
class ShardedStrategy final : public Strategy, private BlockObserver {
 public:
  /// `communicator` must outlive the strategy. Every rank must call it.
  ShardedStrategy(const ShardingPlan& plan, const ShardedConfig& config,
                  comm::Communicator& communicator);
  ~ShardedStrategy() override;

  std::string_view name() const override { return plan_.name; }
  using Strategy::prepare;
  void prepare(torch::nn::Module& module, std::span<const GroupRule> rules,
               const FillValues& fill) override;
  std::vector<optim::ParamGroup> param_groups() override;
  void begin_microbatch(bool is_first, bool is_last) override;
  void backward(const at::Tensor& loss, double weight) override;
  void backward_nothing() override;
  void finish_gradients() override;
  bool misses_gradients() const override { return !refused_parameters().empty(); }
  [[noreturn]] void refuse_missing_gradients() override;
  std::span<const at::Tensor> gradients() const override { return grad_shards_; }
  void reduce_over_shards(const at::Tensor& scalar, comm::ReduceOp op,
                          std::string_view label) const override;
  void begin_evaluation() override;
  void forward_nothing() override;
  void end_evaluation() override;
  void synchronise_buffers() override;
  std::vector<StateShard> model_state() override;
  std::vector<StateShard> cut_by_parameter(const std::string& prefix,
                                           std::span<const at::Tensor> tensors) const override;
  void state_was_loaded() override;
  StrategyMemory memory(int num_microbatches) const override;
  double exposed_communication_s() const override { return exposed_s_; }

  /// Blocks in the order of forward, then what lies in none.
  const std::vector<std::unique_ptr<ShardUnit>>& units() const { return units_; }

 private:
  /// Sums that lie in memory unreduced while backward goes on.
  static constexpr std::size_t kMostReductionsInFlight = 2;

  /// Where a parameter lies.
  struct Place {
    std::size_t unit;
    std::size_t flat;
    std::size_t slot;
  };
  /// A parameter group's part of a shard, in elements of the full tensor.
  struct Slice {
    const ShardedFlat* flat;
    std::int64_t group;
    std::int64_t begin;
    std::int64_t end;
  };

  void fill_unit(std::size_t unit, std::span<const NamedTensor> parameters,
                 std::span<const GroupRule> rules, const FillValues& fill);
  comm::Communicator& shard_group() const { return shard_group_ ? *shard_group_ : world_; }
  ShardUnit& root() { return *units_.back(); }
  std::size_t num_blocks() const { return units_.size() - 1; }

  // What the gates tell; `block` is a number in units_.
  void begin_forward(std::size_t block) override;
  void end_forward(std::size_t block) override;
  void begin_backward(std::size_t block) override;
  void end_backward(std::size_t block) override;

  double gather_root();
  void take_gradient(std::size_t parameter, at::Tensor& grad);
  void start_complete_reductions();
  void finish_oldest_reduction();
  void end_pass();
  std::vector<std::string> refused_parameters() const;
  /// Whether this pass ends with a reduction.
  bool reduces_now() const { return !accumulates_full_gradients_ || is_last_microbatch_; }

  std::uint64_t most_gathered(std::size_t block) const;
  std::uint64_t most_unreduced(std::size_t block, bool holds_all) const;

  std::vector<Slice> optimizer_slices() const;
  void append_piece(std::vector<StateShard>& shards, const tensor::FlatSlot& slot,
                    const at::Tensor& data, std::int64_t begin, std::string name) const;

  ShardingPlan plan_;
  ShardedConfig config_;
  comm::Communicator& world_;
  std::unique_ptr<comm::Communicator> shard_group_;    // null: world_
  std::unique_ptr<comm::Communicator> replica_group_;  // null: there is one replica
  bool accumulates_full_gradients_;

  std::vector<NamedTensor> state_;  // for saving, in the order of state_dict
  std::vector<NamedTensor> buffers_;
  std::vector<optim::ParamGroup> group_settings_;  // without slots, one for each rule
  std::vector<std::unique_ptr<ShardUnit>> units_;
  std::vector<std::shared_ptr<ShardGate>> gates_;
  std::vector<NamedTensor> trained_;                 // as hooks number them
  std::vector<Place> places_;                        // of each of trained_
  std::unordered_map<const void*, Place> place_of_;  // of all parameters, by TensorImpl
  std::optional<GradientHooks> hooks_;

  bool is_in_microbatch_ = false;
  bool is_last_microbatch_ = false;
  bool is_first_reduction_ = false;  // of this step: it overwrites
  bool had_backward_ = false;        // in this step
  std::vector<char> had_gradient_;   // of each of places_, in this step
  /// Of each block, whether backward comes to it: not below the first trained parameter. What the
  /// last pass showed; before that, what the order of registration suggests.
  std::vector<char> has_backward_;
  std::vector<char> is_reached_;         // of each block, in this backward
  std::vector<ShardUnit*> reductions_;   // trained units in the order in which they are reduced
  std::vector<at::Tensor> grad_shards_;  // of reductions_
  std::size_t next_reduction_ = 0;
  std::deque<ShardUnit*> in_flight_;
  std::vector<std::unique_ptr<comm::Work>> replica_sums_;
  double exposed_s_ = 0;
};

/// Throws ConfigError when the shard group's size does not divide the number of ranks.
std::unique_ptr<Strategy> make_fsdp(const ShardedConfig& config, comm::Communicator& communicator);
/// Shards within groups of `shard_group_size` neighbouring ranks, replicates across them.
std::unique_ptr<Strategy> make_hsdp(const ShardedConfig& config, int shard_group_size,
                                    comm::Communicator& communicator);
std::unique_ptr<Strategy> make_zero1(const ShardedConfig& config, comm::Communicator& communicator);
std::unique_ptr<Strategy> make_zero2(const ShardedConfig& config, comm::Communicator& communicator);

}  // namespace paceline::parallel
