#include "paceline/optim/adam.h"

#include "paceline/optim/host_pass.h"
#include "paceline/optim/slot_lists.h"

#include <array>
#include <cmath>
#include <type_traits>
#include <utility>

namespace paceline::optim {
namespace {

// What at::_fused_adam_ and at::_fused_adamw_ compute on the host, to the last bit.
template <typename T, bool kInVector>
void adam_element(T grad, T param, T mean, T square, T kept, T added, T mean_share, T square_kept,
                  T square_share, T step_size, T root, T eps, T& new_param, T& new_mean,
                  T& new_square) {
  if (added != 0) grad = std::fma(param, added, grad);
  new_mean = tensor::moved(mean, grad, mean_share);
  new_square = kInVector ? std::fma(square_share * grad, grad, square * square_kept)
                         : std::fma(square, square_kept, square_share * grad * grad);
  new_param = param * kept + -step_size * new_mean / (std::sqrt(new_square) / root + eps);
}

constexpr FusedUpdate kHostUpdate{
    tensor::element_update<&adam_element<float, true>, &adam_element<double, true>>("adam_element",
                                                                                    nullptr),
    tensor::element_update<&adam_element<float, false>, &adam_element<double, false>>(
        "adam_element", nullptr)};

/// Both, whose options have the same names.
template <class Config>
class Adam final : public Optimizer {
 public:
  Adam(const Config& config, std::vector<ParamGroup> groups)
      : config_(config),
        groups_(std::move(groups)),
        lists_(make_slot_lists(groups_)),
        exp_avgs_(zeros_like_slots(groups_)),
        exp_avg_sqs_(zeros_like_slots(groups_)),
        pass_(groups_) {
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
    ++num_steps_;
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      const double lr_of_group = lr * groups_[lists_[i].group].lr_scale;
      if (pass_.is_asked()) {
        step_on_host(i, lr_of_group, skip);
      } else {
        step_fused(i, lr_of_group, skip);
      }
      bump_versions(lists_[i]);
    }
    pass_.end();
  }

  bool scale_next_gradients(double factor) override { return pass_.scale(factor); }
  bool average_next_parameters(std::span<const at::Tensor> averages, double share) override {
    return pass_.average(averages, share);
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
  static constexpr bool kIsDecoupled = std::is_same_v<Config, AdamWConfig>;

  struct ListState {
    std::vector<at::Tensor> exp_avgs;
    std::vector<at::Tensor> exp_avg_sqs;
    at::Tensor num_steps;                       // scalar, float32 as the kernel wants it
    std::vector<at::Tensor> num_steps_by_slot;  // the same tensor for every slot
  };

  void step_fused(std::size_t number, double lr, const at::Tensor& skip) {
    const SlotList& list = lists_[number];
    ListState& state = list_states_[number];
    const auto update = [](const auto&... arguments) {
      if constexpr (kIsDecoupled) {
        at::_fused_adamw_(arguments...);
      } else {
        at::_fused_adam_(arguments...);
      }
    };
    state.num_steps.fill_(num_steps_);
    update(list.params, list.grads, state.exp_avgs, state.exp_avg_sqs,
           /*max_exp_avg_sqs=*/at::TensorList(), state.num_steps_by_slot, lr, config_.beta1,
           config_.beta2, groups_[list.group].weight_decay, config_.eps, /*amsgrad=*/false,
           /*maximize=*/false, /*grad_scale=*/std::nullopt, if_defined(skip));
  }

  void step_on_host(std::size_t number, double lr, const at::Tensor& skip) {
    const SlotList& list = lists_[number];
    const ListState& state = list_states_[number];
    const double decay = groups_[list.group].weight_decay;
    const auto steps = static_cast<double>(num_steps_);
    const double mean_correction = 1 - std::pow(config_.beta1, steps);
    const double square_correction = 1 - std::pow(config_.beta2, steps);
    const std::array scalars{kIsDecoupled ? 1 - lr * decay : 1.0,
                             kIsDecoupled ? 0.0 : decay,
                             1 - config_.beta1,
                             config_.beta2,
                             1 - config_.beta2,
                             lr / mean_correction,
                             std::sqrt(square_correction),
                             config_.eps};
    for (std::size_t i = 0; i < list.slots.size(); ++i) {
      const std::array values{list.params[i], state.exp_avgs[i], state.exp_avg_sqs[i]};
      kHostUpdate.run(list.grads[i], values, scalars, skip, pass_.extras(list.slots[i]));
    }
  }

  Config config_;
  std::vector<ParamGroup> groups_;
  std::vector<SlotList> lists_;
  std::vector<at::Tensor> exp_avgs_;
  std::vector<at::Tensor> exp_avg_sqs_;
  std::vector<ListState> list_states_;
  HostPass pass_;
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
