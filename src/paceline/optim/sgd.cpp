#include "paceline/optim/sgd.h"

#include "paceline/base/error.h"
#include "paceline/optim/host_pass.h"
#include "paceline/optim/slot_lists.h"

#include <array>
#include <cmath>
#include <initializer_list>
#include <span>
#include <utility>

namespace paceline::optim {
namespace {

// What at::_fused_sgd_ computes on the host, to the last bit. Few operations an element, as a core
// keeps the more memory in flight.

template <typename T>
void plain_element(T grad, T param, T lr, T decay, T& new_param) {
  new_param = std::fma(-std::fma(param, decay, grad), lr, param);
}

template <typename T, bool kInVector>
T next_momentum(T grad, T buffer, T kept, T taken) {
  return kInVector ? std::fma(grad, taken, buffer * kept) : std::fma(buffer, kept, grad * taken);
}

template <typename T, bool kInVector>
void momentum_element(T grad, T param, T buffer, T lr, T decay, T kept, T taken, T& new_param,
                      T& new_buffer) {
  new_buffer = next_momentum<T, kInVector>(std::fma(param, decay, grad), buffer, kept, taken);
  new_param = std::fma(-new_buffer, lr, param);
}

template <typename T, bool kInVector>
void nesterov_element(T grad, T param, T buffer, T lr, T decay, T kept, T taken, T momentum,
                      T& new_param, T& new_buffer) {
  grad = std::fma(param, decay, grad);
  new_buffer = next_momentum<T, kInVector>(grad, buffer, kept, taken);
  new_param = std::fma(-std::fma(new_buffer, momentum, grad), lr, param);
}

constexpr auto kPlainElement =
    tensor::element_update<&plain_element<float>, &plain_element<double>>("plain_element", nullptr);
constexpr FusedUpdate kPlainUpdate{kPlainElement, kPlainElement};
constexpr FusedUpdate kMomentumUpdate{
    tensor::element_update<&momentum_element<float, true>, &momentum_element<double, true>>(
        "momentum_element", nullptr),
    tensor::element_update<&momentum_element<float, false>, &momentum_element<double, false>>(
        "momentum_element", nullptr)};
constexpr FusedUpdate kNesterovUpdate{
    tensor::element_update<&nesterov_element<float, true>, &nesterov_element<double, true>>(
        "nesterov_element", nullptr),
    tensor::element_update<&nesterov_element<float, false>, &nesterov_element<double, false>>(
        "nesterov_element", nullptr)};

class Sgd final : public Optimizer {
 public:
  Sgd(const SgdConfig& config, std::vector<ParamGroup> groups)
      : config_(config),
        groups_(std::move(groups)),
        lists_(make_slot_lists(groups_)),
        pass_(groups_) {
    if (config_.momentum > 0) momentum_buffers_ = zeros_like_slots(groups_);
    for (const SlotList& list : lists_) {
      list_buffers_.push_back(config_.momentum > 0 ? select(momentum_buffers_, list)
                                                   : std::vector<at::Tensor>{});
    }
  }

  std::string_view name() const override { return "sgd"; }

  using Optimizer::step;
  void step(double lr, const at::Tensor& skip) override {
    const at::NoGradGuard no_grad;
    const bool is_first_step = num_steps_ == 0;  // the momentum starts as the gradient itself
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      const ParamGroup& group = groups_[lists_[i].group];
      if (pass_.is_asked()) {
        step_on_host(i, lr * group.lr_scale, skip);
      } else {
        at::_fused_sgd_(lists_[i].params, lists_[i].grads, list_buffers_[i], group.weight_decay,
                        config_.momentum, lr * group.lr_scale, config_.dampening, config_.nesterov,
                        /*maximize=*/false, is_first_step, /*grad_scale=*/{}, if_defined(skip));
      }
      bump_versions(lists_[i]);
    }
    pass_.end();
    ++num_steps_;
  }

  bool scale_next_gradients(double factor) override { return pass_.scale(factor); }
  bool average_next_parameters(std::span<const at::Tensor> averages, double share) override {
    return pass_.average(averages, share);
  }

  std::vector<SlotState> state() const override {
    if (momentum_buffers_.empty()) return {};
    return {{"momentum_buffer", momentum_buffers_}};
  }
  std::int64_t num_steps() const override { return num_steps_; }
  void set_num_steps(std::int64_t num_steps) override { num_steps_ = num_steps; }
  std::vector<ParamGroup>& groups() override { return groups_; }
  bool set_momentum(double momentum) override {
    if (config_.momentum == 0) return false;  // it has no buffers
    config_.momentum = momentum;
    return true;
  }

 private:
  void step_on_host(std::size_t number, double lr, const at::Tensor& skip) {
    const SlotList& list = lists_[number];
    const double decay = groups_[list.group].weight_decay;
    const bool is_first =
        num_steps_ == 0;  // the buffer is zeros then, and the gradient replaces it
    const double kept = is_first ? 0.0 : config_.momentum;
    const double taken = is_first ? 1.0 : 1 - config_.dampening;
    for (std::size_t i = 0; i < list.slots.size(); ++i) {
      const auto run = [&](const FusedUpdate& update, std::span<const at::Tensor> values,
                           std::initializer_list<double> scalars) {
        update.run(list.grads[i], values, scalars, skip, pass_.extras(list.slots[i]));
      };
      if (config_.momentum == 0) {
        run(kPlainUpdate, std::array{list.params[i]}, {lr, decay});
        continue;
      }
      const std::array values{list.params[i], list_buffers_[number][i]};
      if (config_.nesterov) {
        run(kNesterovUpdate, values, {lr, decay, kept, taken, config_.momentum});
      } else {
        run(kMomentumUpdate, values, {lr, decay, kept, taken});
      }
    }
  }

  SgdConfig config_;
  std::vector<ParamGroup> groups_;
  std::vector<SlotList> lists_;
  std::vector<at::Tensor> momentum_buffers_;           // by slot
  std::vector<std::vector<at::Tensor>> list_buffers_;  // the same tensors by list
  HostPass pass_;
  std::int64_t num_steps_ = 0;
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const SgdConfig& config, std::vector<ParamGroup> groups) {
  if (config.nesterov && (config.momentum == 0 || config.dampening != 0)) {
    throw base::ConfigError(
        fmt::format("sgd: nesterov needs a momentum above 0 and dampening 0, got momentum {} and "
                    "dampening {}",
                    config.momentum, config.dampening));
  }
  return std::make_unique<Sgd>(config, std::move(groups));
}

std::unique_ptr<OptimizerPlan> make(const SgdConfig& config) { return plan_of(config); }

}  // namespace paceline::optim
