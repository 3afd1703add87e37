#pragma once

#include "paceline/parallel/named_tensors.h"
#include "paceline/parallel/replicated/bucketed_gradients.h"
#include "paceline/parallel/replicated/ddp_config.h"
#include "paceline/parallel/strategy.h"
#include "paceline/tensor/arena.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::parallel {

/// The strategies "none" and "ddp": the whole model on every rank.
///
/// A gradient is copied (first microbatch) or added (later ones) into its slot of the gradient
/// arena by a post-accumulate hook, and .grad is undefined again at once: no pass over the
/// gradients besides. Under "none" on the CPU large ones stay where backward has put them. The
/// module must not be moved or cast afterwards; begin_microbatch checks that and names the
/// parameter.
class ReplicatedStrategy final : public Strategy {
 public:
  /// `communicator` may be null ("none"); it must outlive the strategy.
  ReplicatedStrategy(std::string_view name, comm::Communicator* communicator, DdpConfig config);

  std::string_view name() const override { return name_; }
  using Strategy::prepare;
  void prepare(torch::nn::Module& module, std::span<const GroupRule> rules,
               const FillValues& fill) override;
  std::span<const NamedTensor> parameters() const override { return gradients_->parameters(); }
  std::vector<optim::ParamGroup> param_groups() override;
  optim::ParameterShards parameter_shards() const override;
  void begin_microbatch(bool is_first, bool is_last) override;
  void backward(const at::Tensor& loss, double weight) override;
  void backward_nothing() override;
  void finish_gradients() override;
  void end_own_pass() override;
  bool has_own_gradients() const override { return true; }
  MissingGradients missing_gradients() const override { return gradients_->missing(); }
  std::span<const at::Tensor> gradients() override;
  bool watch_gradients(SeeGradient see) override;
  bool watched_all() const override { return gradients_->is_watched() && !were_given_; }
  /// Every rank holds the same sums.
  void reduce_over_shards(const at::Tensor& /*values*/, comm::ReduceOp /*op*/,
                          std::string_view /*label*/) const override {}
  void synchronise_buffers() override;
  std::vector<StateShard> model_state() const override;
  std::vector<StateShard> cut_by_parameter(const std::string& prefix,
                                           std::span<const at::Tensor> tensors) const override;
  std::vector<StateShard> gradient_state() const override {
    return gradients_->compression_state();
  }
  void state_was_loaded() override;
  bool takes_steps_as_they_are() const override {
    return Strategy::takes_steps_as_they_are() && gradients_->used().maybe_unused().empty();
  }
  StrategyMemory memory(int num_microbatches) const override;
  /// Not where each step may use other parameters.
  bool can_be_recorded() const override { return !config_.allow_unused_parameters; }
  double exposed_communication_s() const override { return gradients_->exposed_s(); }
  CommunicationReport communication_report() const override;

  /// Fixed by prepare(): a resumed run must sum gradients in the same order.
  const tensor::FlatLayout& layout() const { return gradients_->layout(); }

 protected:
  void freeze(const std::set<std::string>& names) override;
  void step(optim::Optimizer& optimizer, double lr, const at::Tensor& skip) override;

 private:
  void lay_out_values(const FillValues& fill);
  void start_from_first_rank();
  bool is_first_rank() const { return communicator_ == nullptr || communicator_->rank() == 0; }
  void end_backward();
  /// Visits the parts of each slot of the layout in tensors parallel to param_groups()' slots.
  void for_each_part(std::span<const at::Tensor> tensors,
                     const std::function<void(std::size_t slot, const at::Tensor&)>& visit) const;
  void check_views() const;
  StateShard whole_shard(std::string name, const at::Tensor& data) const;

  std::string_view name_;  // of a literal
  comm::Communicator* communicator_;
  DdpConfig config_;

  std::vector<NamedTensor> buffers_;
  std::vector<NamedTensor> state_;  // for saving, in the order of state_dict
  std::vector<NamedTensor> frozen_;
  std::vector<optim::ParamGroup> group_settings_;  // without slots, one for each rule
  std::optional<tensor::Arena> values_;
  std::optional<BucketedGradients> gradients_;

  bool were_given_ = false;    // gradients(), in this step
  bool had_backward_ = false;  // in this step
  bool is_in_microbatch_ = false;
  bool is_last_microbatch_ = false;
};

std::unique_ptr<ReplicatedStrategy> make_none(const NoneConfig& config);
/// The communicator must outlive the strategy.
std::unique_ptr<ReplicatedStrategy> make_ddp(const DdpConfig& config,
                                             comm::Communicator& communicator);

}  // namespace paceline::parallel
