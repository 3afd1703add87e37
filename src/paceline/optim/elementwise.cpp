#include "paceline/optim/elementwise.h"

#include "paceline/optim/host_pass.h"
#include "paceline/optim/slot_lists.h"

#include <utility>

namespace paceline::optim {
namespace {

class Elementwise final : public Optimizer {
 public:
  Elementwise(ElementRule rule, std::vector<ParamGroup> groups)
      : rule_(std::move(rule)),
        groups_(std::move(groups)),
        lists_(make_slot_lists(groups_)),
        pass_(groups_) {
    for (const ElementRule::State& state : rule_.states) {
      states_.push_back({state.name, zeros_like_slots(groups_)});
      for (const at::Tensor& tensor : states_.back().tensors) tensor.fill_(state.first);
    }
  }

  std::string_view name() const override { return rule_.name; }

  using Optimizer::step;
  void step(double lr, const at::Tensor& skip) override {
    const at::NoGradGuard no_grad;
    ++num_steps_;
    for (const SlotList& list : lists_) {
      const ParamGroup& group = groups_[list.group];
      const auto scalars = rule_.scalars(
          {lr * group.lr_scale, lr, group.weight_decay, num_steps_, rule_.momentum.value_or(0)});
      for (std::size_t i = 0; i < list.slots.size(); ++i) {
        std::vector<at::Tensor> values{list.params[i]};
        for (const SlotState& state : states_) values.push_back(state.tensors[list.slots[i]]);
        tensor::update_elements(rule_.update, list.grads[i], values, scalars, skip,
                                pass_.extras(list.slots[i]));
      }
      bump_versions(list);
    }
    pass_.end();
  }

  bool scale_next_gradients(double factor) override { return pass_.scale(factor); }
  bool average_next_parameters(std::span<const at::Tensor> averages, double share) override {
    return pass_.average(averages, share);
  }

  std::vector<SlotState> state() const override { return states_; }
  std::int64_t num_steps() const override { return num_steps_; }
  void set_num_steps(std::int64_t num_steps) override { num_steps_ = num_steps; }
  std::vector<ParamGroup>& groups() override { return groups_; }
  bool set_momentum(double momentum) override {
    if (!rule_.momentum) return false;
    rule_.momentum = momentum;
    return true;
  }

 private:
  ElementRule rule_;
  std::vector<ParamGroup> groups_;
  std::vector<SlotList> lists_;
  std::vector<SlotState> states_;
  HostPass pass_;
  std::int64_t num_steps_ = 0;
};

}  // namespace

std::unique_ptr<Optimizer> make_elementwise(ElementRule rule, std::vector<ParamGroup> groups) {
  return std::make_unique<Elementwise>(std::move(rule), std::move(groups));
}

}  // namespace paceline::optim
