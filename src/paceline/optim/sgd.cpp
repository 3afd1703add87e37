#include "paceline/optim/sgd.h"

#include "paceline/base/error.h"
#include "paceline/optim/slot_lists.h"

#include <utility>

namespace paceline::optim {
namespace {

class Sgd final : public Optimizer {
 public:
  Sgd(const SgdConfig& config, std::vector<ParamGroup> groups)
      : config_(config), groups_(std::move(groups)), lists_(make_slot_lists(groups_)) {
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
      at::_fused_sgd_(lists_[i].params, lists_[i].grads, list_buffers_[i], group.weight_decay,
                      config_.momentum, lr * group.lr_scale, config_.dampening, config_.nesterov,
                      /*maximize=*/false, is_first_step, /*grad_scale=*/{}, if_defined(skip));
      bump_versions(lists_[i]);
    }
    ++num_steps_;
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
  SgdConfig config_;
  std::vector<ParamGroup> groups_;
  std::vector<SlotList> lists_;
  std::vector<at::Tensor> momentum_buffers_;           // by slot
  std::vector<std::vector<at::Tensor>> list_buffers_;  // the same tensors by list
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
