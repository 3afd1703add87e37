#include "paceline/optim/adam.h"

#include "paceline/optim/slot_lists.h"

#include <type_traits>
#include <utility>

namespace paceline::optim {
namespace {

/// Both, whose options have the same names.
template <class Config>
class Adam final : public Optimizer {
 public:
  Adam(const Config& config, std::vector<ParamGroup> groups)
      : config_(config),
        groups_(std::move(groups)),
        lists_(make_slot_lists(groups_)),
        exp_avgs_(zeros_like_slots(groups_)),
        exp_avg_sqs_(zeros_like_slots(groups_)) {
    for (const SlotList& list : lists_) {
      const auto options = list.params.front().options().dtype(at::kFloat).requires_grad(false);
      const at::Tensor num_steps = at::zeros({}, options);
      list_states_.push_back({select(exp_avgs_, list), select(exp_avg_sqs_, list), num_steps,
                              std::vector<at::Tensor>(list.params.size(), num_steps)});
    }
  }

  std::string_view name() const override { return config::Schema<Config>::name; }

  using Optimizer::step;
  void step(double lr, const at::Tensor& skip) override {
    const at::NoGradGuard no_grad;
    const auto update = [](const auto&... arguments) {
      if constexpr (std::is_same_v<Config, AdamWConfig>) {
        at::_fused_adamw_(arguments...);
      } else {
        at::_fused_adam_(arguments...);
      }
    };
    ++num_steps_;
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      const ParamGroup& group = groups_[lists_[i].group];
      ListState& state = list_states_[i];
      state.num_steps.fill_(num_steps_);
      update(lists_[i].params, lists_[i].grads, state.exp_avgs, state.exp_avg_sqs,
             /*max_exp_avg_sqs=*/at::TensorList(), state.num_steps_by_slot, lr * group.lr_scale,
             config_.beta1, config_.beta2, group.weight_decay, config_.eps, /*amsgrad=*/false,
             /*maximize=*/false,
             /*grad_scale=*/std::nullopt, if_defined(skip));
      bump_versions(lists_[i]);
    }
  }

  std::vector<SlotState> state() const override {
    return {{"exp_avg", exp_avgs_}, {"exp_avg_sq", exp_avg_sqs_}};
  }
  std::int64_t num_steps() const override { return num_steps_; }
  void set_num_steps(std::int64_t num_steps) override { num_steps_ = num_steps; }
  std::vector<ParamGroup>& groups() override { return groups_; }
  bool set_momentum(double momentum) override {
    config_.beta1 = momentum;
    return true;
  }

 private:
  struct ListState {
    std::vector<at::Tensor> exp_avgs;
    std::vector<at::Tensor> exp_avg_sqs;
    at::Tensor num_steps;                       // scalar, float32 as the kernel wants it
    std::vector<at::Tensor> num_steps_by_slot;  // the same tensor for every slot
  };

  Config config_;
  std::vector<ParamGroup> groups_;
  std::vector<SlotList> lists_;
  std::vector<at::Tensor> exp_avgs_;
  std::vector<at::Tensor> exp_avg_sqs_;
  std::vector<ListState> list_states_;
  std::int64_t num_steps_ = 0;
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const AdamConfig& config,
                                          std::vector<ParamGroup> groups) {
  return std::make_unique<Adam<AdamConfig>>(config, std::move(groups));
}

std::unique_ptr<Optimizer> make_optimizer(const AdamWConfig& config,
                                          std::vector<ParamGroup> groups) {
  return std::make_unique<Adam<AdamWConfig>>(config, std::move(groups));
}

std::unique_ptr<OptimizerPlan> make(const AdamConfig& config) { return plan_of(config); }
std::unique_ptr<OptimizerPlan> make(const AdamWConfig& config) { return plan_of(config); }

}  // namespace paceline::optim
