#include "paceline/optim/new_part.h"
#include "paceline/optim/slot_lists.h"

#include <utility>

namespace paceline::optim {
namespace {

class NewPart final : public Optimizer {
 public:
  NewPart(const NewPartConfig& config, std::vector<ParamGroup> groups)
      : config_(config), groups_(std::move(groups)), momenta_(zeros_like_slots(groups_)) {}

  std::string_view name() const override { return "new_part"; }

  using Optimizer::step;
  void step(double lr, const at::Tensor& skip) override {
    const at::NoGradGuard no_grad;
    std::size_t number = 0;
    for (const ParamGroup& group : groups_) {
      for (const ParamSlot& slot : group.slots) {
        const at::Tensor& momentum = momenta_[number++];
        const at::Tensor gradient = slot.grad + group.weight_decay * slot.param;
        assign(momentum, config_.momentum * momentum + gradient, skip);
        assign(slot.param, slot.param - lr * group.lr_scale * momentum, skip);
      }
    }
    ++num_steps_;
  }

  std::vector<SlotState> state() const override { return {{"momentum_buffer", momenta_}}; }
  std::int64_t num_steps() const override { return num_steps_; }
  void set_num_steps(std::int64_t num_steps) override { num_steps_ = num_steps; }
  std::vector<ParamGroup>& groups() override { return groups_; }

 private:
  /// Where the step is skipped, which the host does not know, values stay as they are.
  static void assign(const at::Tensor& target, const at::Tensor& values, const at::Tensor& skip) {
    target.copy_(skip.defined() ? at::where(skip.ne(0), target, values) : values);
  }

  NewPartConfig config_;
  std::vector<ParamGroup> groups_;
  std::vector<at::Tensor> momenta_;  // by slot
  std::int64_t num_steps_ = 0;
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const NewPartConfig& config,
                                          std::vector<ParamGroup> groups) {
  return std::make_unique<NewPart>(config, std::move(groups));
}

std::unique_ptr<OptimizerPlan> make(const NewPartConfig& config) { return plan_of(config); }

}  // namespace paceline::optim
