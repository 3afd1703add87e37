#include "paceline/optim/layerwise/layerwise.h"

#include "paceline/optim/slot_lists.h"

#include <array>
#include <span>
#include <utility>

namespace paceline::optim {
namespace {

class Layerwise final : public Optimizer {
 public:
  Layerwise(LayerRule rule, std::vector<ParamGroup> groups, const ParameterShards& shards)
      : rule_(std::move(rule)), groups_(std::move(groups)), shards_(shards) {
    number_parameters(groups_, shards_);
    lists_ = make_slot_lists(groups_);
    directions_ = zeros_like_slots(groups_);
    for (const ElementRule::State& state : rule_.states) {
      states_.push_back({state.name, zeros_like_slots(groups_)});
      for (const at::Tensor& tensor : states_.back().tensors) tensor.fill_(state.first);
    }
    for (const ParamGroup& group : groups_) {
      for (const ParamSlot& slot : group.slots) pieces_.push_back(slot.pieces);
    }
  }

  std::string_view name() const override { return rule_.name; }

  using Optimizer::step;
  void step(double lr, const at::Tensor& skip) override {
    const at::NoGradGuard no_grad;
    ++num_steps_;
    take_gradients();
    LayerNorms norms;
    if (rule_.measures_gradient) norms = measure();
    run(rule_.direction, rule_.direction_scalars, lr, skip, /*of_direction=*/true);
    if (!rule_.measures_gradient) norms = measure();
    scale_directions(norms, lr);
    run(rule_.apply, rule_.apply_scalars, lr, skip, /*of_direction=*/false);
    for (const SlotList& list : lists_) bump_versions(list);
  }

  std::vector<SlotState> state() const override { return states_; }
  std::uint64_t scratch_bytes() const override {
    std::uint64_t bytes = 0;
    for (const at::Tensor& direction : directions_) bytes += direction.nbytes();
    return bytes;
  }
  std::int64_t num_steps() const override { return num_steps_; }
  void set_num_steps(std::int64_t num_steps) override { num_steps_ = num_steps; }
  std::vector<ParamGroup>& groups() override { return groups_; }
  bool set_momentum(double momentum) override {
    if (!rule_.momentum) return false;
    rule_.momentum = momentum;
    return true;
  }

 private:
  std::int64_t num_parameters() const { return std::ssize(shards_.parameters); }

  ElementStep step_of(const ParamGroup& group, double lr) const {
    return {lr * group.lr_scale, lr, group.weight_decay, num_steps_, rule_.momentum.value_or(0)};
  }

  void take_gradients() {
    for (const SlotList& list : lists_) {
      for (std::size_t i = 0; i < list.slots.size(); ++i)
        directions_[list.slots[i]].copy_(list.grads[i]);
    }
    if (!rule_.max_grad_norm) return;
    const at::Tensor squares = at::zeros({1, num_parameters()}, double_options());
    add_squares(directions_, squares[0]);
    shards_.sum(squares);
    const at::Tensor factor = (squares.sum().sqrt() / *rule_.max_grad_norm).clamp_min(1.0);
    for (const at::Tensor& direction : directions_)
      direction.div_(factor.to(direction.scalar_type()));
  }

  LayerNorms measure() const {
    std::vector<at::Tensor> params;
    for (const ParamGroup& group : groups_) {
      for (const ParamSlot& slot : group.slots) params.push_back(slot.param);
    }
    const at::Tensor squares = at::zeros({2, num_parameters()}, double_options());
    add_squares(params, squares[0]);
    add_squares(directions_, squares[1]);
    shards_.sum(squares);
    squares.sqrt_();
    return {squares[0], squares[1]};
  }

  /// Adds the squares of this rank's part of each parameter.
  void add_squares(std::span<const at::Tensor> by_slot, const at::Tensor& squares) const {
    std::vector<at::Tensor> sums;
    std::vector<std::int64_t> parameters;
    for (std::size_t slot = 0; slot < by_slot.size(); ++slot) {
      for (const ParamPiece& piece : pieces_[slot]) {
        const at::Tensor part = part_of(by_slot[slot], piece);
        sums.push_back(at::dot(part, part).to(at::kDouble));
        parameters.push_back(piece.parameter);
      }
    }
    if (sums.empty()) return;
    squares.index_add_(0, at::tensor(parameters, at::kLong).to(squares.device()), at::stack(sums));
  }

  void scale_directions(const LayerNorms& norms, double lr) {
    for (const SlotList& list : lists_) {
      const ParamGroup& group = groups_[list.group];
      if (group.weight_decay == 0 && !rule_.always_adapts) continue;
      const at::Tensor ratio =
          rule_.ratio(norms, step_of(group, lr)).to(list.params.front().scalar_type());
      for (const std::size_t slot : list.slots) {
        for (const ParamPiece& piece : pieces_[slot])
          part_of(directions_[slot], piece).mul_(ratio[piece.parameter]);
      }
    }
  }

  void run(const tensor::ElementUpdate& update,
           const std::function<std::vector<double>(const ElementStep&)>& scalars_of, double lr,
           const at::Tensor& skip, bool of_direction) {
    const std::span<const SlotState> states(states_);
    const auto of_pass = of_direction ? states.first(rule_.num_direction_states)
                                      : states.subspan(rule_.num_direction_states);
    for (const SlotList& list : lists_) {
      const auto scalars = scalars_of(step_of(groups_[list.group], lr));
      for (std::size_t i = 0; i < list.slots.size(); ++i) {
        const at::Tensor& direction = directions_[list.slots[i]];
        std::vector<at::Tensor> values;
        if (!of_direction) values.push_back(list.params[i]);
        for (const SlotState& state : of_pass) values.push_back(state.tensors[list.slots[i]]);
        if (of_direction) values.push_back(direction);
        tensor::update_elements(update, of_direction ? list.params[i] : direction, values, scalars,
                                skip);
      }
    }
  }

  at::TensorOptions double_options() const { return at::device(shards_.device).dtype(at::kDouble); }

  LayerRule rule_;
  std::vector<ParamGroup> groups_;
  ParameterShards shards_;
  std::vector<SlotList> lists_;
  std::vector<SlotState> states_;
  std::vector<at::Tensor> directions_;           // by slot
  std::vector<std::vector<ParamPiece>> pieces_;  // likewise
  std::int64_t num_steps_ = 0;
};

}  // namespace

at::Tensor or_one(const at::Tensor& ratio, const LayerNorms& norms) {
  return at::where((norms.param > 0).logical_and(norms.direction > 0), ratio, 1.0);
}

std::unique_ptr<Optimizer> make_layerwise(LayerRule rule, std::vector<ParamGroup> groups,
                                          const ParameterShards& shards) {
  return std::make_unique<Layerwise>(std::move(rule), std::move(groups), shards);
}

}  // namespace paceline::optim
