#include "paceline/optim/muon.h"

#include "paceline/optim/adam.h"
#include "paceline/optim/slot_lists.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace paceline::optim {
namespace {

/// A parameter's part on this rank.
struct MatrixPart {
  std::size_t slot = 0;  ///< over all groups
  ParamPiece piece;
};

/// A parameter that steps as a matrix, of which this rank may have nothing.
struct Matrix {
  std::size_t group = 0;
  at::ScalarType dtype = at::kFloat;
  std::int64_t rows = 0, columns = 0;
  std::vector<MatrixPart> parts = {};
};

class Muon final : public Optimizer {
 public:
  Muon(const MuonConfig& config, std::vector<ParamGroup> groups, ParameterShards shards)
      : config_(config), groups_(std::move(groups)), shards_(std::move(shards)) {
    number_parameters(groups_, shards_);
    lists_ = make_slot_lists(groups_);
    adamw_ = make_optimizer(
        AdamWConfig{
            .beta1 = config.adamw_beta1, .beta2 = config.adamw_beta2, .eps = config.adamw_eps},
        groups_of(/*are_matrices=*/false));
    find_matrices();
  }

  std::string_view name() const override { return "muon"; }

  using Optimizer::step;
  void step(double lr, const at::Tensor& skip) override {
    const at::NoGradGuard no_grad;
    ++num_steps_;
    adamw_->step(lr, skip);
    for (std::size_t number = 0; number < matrices_.size(); ++number)
      step_matrix(matrices_[number], number, lr, skip);
    for (const SlotList& list : lists_) {
      if (groups_[list.group].is_matrix) bump_versions(list);
    }
  }

  std::vector<SlotState> state() const override {
    std::vector<SlotState> states{{"momentum_buffer", buffers_}};
    for (const SlotState& of_adamw : adamw_->state()) {
      SlotState state{of_adamw.name, std::vector<at::Tensor>(buffers_.size())};
      for (std::size_t i = 0; i < adamw_slots_.size(); ++i)
        state.tensors[adamw_slots_[i]] = of_adamw.tensors[i];
      states.push_back(std::move(state));
    }
    return states;
  }
  std::int64_t num_steps() const override { return num_steps_; }
  void set_num_steps(std::int64_t num_steps) override {
    num_steps_ = num_steps;
    adamw_->set_num_steps(num_steps);
  }
  std::vector<ParamGroup>& groups() override { return groups_; }
  bool set_momentum(double momentum) override {
    config_.momentum = momentum;
    return true;
  }

 private:
  std::vector<ParamGroup> groups_of(bool are_matrices) const {
    std::vector<ParamGroup> groups;
    for (const ParamGroup& group : groups_) {
      if (group.is_matrix == are_matrices) groups.push_back(group);
    }
    return groups;
  }

  void find_matrices() {
    std::vector<Matrix> all(shards_.parameters.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const WholeParameter& parameter = shards_.parameters[i];
      if (!groups_[parameter.group].is_matrix) continue;
      const std::int64_t rows = parameter.sizes.front();
      all[i] = {parameter.group, parameter.dtype, rows, parameter.numel() / rows};
    }
    for (const ParamGroup& group : groups_) {
      for (const ParamSlot& slot : group.slots) {
        const std::size_t number = params_.size();
        params_.push_back(flat_view(slot.param));
        grads_.push_back(flat_view(slot.grad));
        buffers_.push_back(group.is_matrix
                               ? at::zeros_like(slot.param.detach(), at::MemoryFormat::Preserve)
                               : at::Tensor());
        if (!group.is_matrix) adamw_slots_.push_back(number);
        for (const ParamPiece& piece : slot.pieces)
          all[static_cast<std::size_t>(piece.parameter)].parts.push_back({number, piece});
      }
    }
    std::ranges::copy_if(all, std::back_inserter(matrices_),
                         [](const Matrix& matrix) { return matrix.rows > 0; });
  }

  void step_matrix(const Matrix& matrix, std::size_t number, double lr, const at::Tensor& skip) {
    const at::Tensor whole = gather_direction(matrix, skip);
    const bool is_mine = number % static_cast<std::size_t>(shards_.world_size) ==
                         static_cast<std::size_t>(shards_.rank);
    if (is_mine) {
      const at::Tensor step = orthogonalise(whole.view({matrix.rows, matrix.columns}),
                                            config_.num_iterations, config_.eps);
      whole.copy_(step.reshape({-1}));
    } else {
      whole.zero_();
    }
    if (shards_.world_size > 1) shards_.sum(whole);
    apply(matrix, whole, lr, skip);
  }

  /// What the momentum makes of the gradient, whole on every rank.
  at::Tensor gather_direction(const Matrix& matrix, const at::Tensor& skip) {
    const std::int64_t numel = matrix.rows * matrix.columns;
    const at::Tensor whole = at::zeros({numel}, at::device(shards_.device).dtype(matrix.dtype));
    for (const auto& [slot, piece] : matrix.parts) {
      const at::Tensor grad = part(grads_[slot], piece);
      const at::Tensor buffer = part(flat_view(buffers_[slot]), piece);
      const at::Tensor next = buffer.lerp(grad, 1 - config_.momentum);
      keep_or_take(buffer, next, skip);
      whole.narrow(0, piece.offset, piece.end - piece.begin)
          .copy_(config_.nesterov ? grad.lerp(next, config_.momentum) : next);
    }
    if (shards_.world_size > 1) shards_.sum(whole);
    return whole;
  }

  void apply(const Matrix& matrix, const at::Tensor& whole, double lr, const at::Tensor& skip) {
    const ParamGroup& group = groups_[matrix.group];
    const double own_lr = lr * group.lr_scale;
    for (const auto& [slot, piece] : matrix.parts) {
      const at::Tensor param = part(params_[slot], piece);
      const at::Tensor next = (param * (1 - own_lr * group.weight_decay))
                                  .add_(whole.narrow(0, piece.offset, piece.end - piece.begin),
                                        -own_lr * scale_of(matrix));
      keep_or_take(param, next, skip);
    }
  }

  static at::Tensor part(const at::Tensor& flat, const ParamPiece& piece) {
    return flat.narrow(0, piece.begin, piece.end - piece.begin);
  }

  static void keep_or_take(const at::Tensor& place, const at::Tensor& next,
                           const at::Tensor& skip) {
    place.copy_(skip.defined() ? at::where(skip != 0, place, next) : next);
  }

  double scale_of(const Matrix& matrix) const {
    const auto rows = static_cast<double>(matrix.rows);
    const auto columns = static_cast<double>(matrix.columns);
    return config_.adjust_lr == MuonScale::kOriginal ? std::sqrt(std::max(1.0, rows / columns))
                                                     : 0.2 * std::sqrt(std::max(rows, columns));
  }

  MuonConfig config_;
  std::vector<ParamGroup> groups_;
  ParameterShards shards_;
  std::vector<SlotList> lists_;
  std::unique_ptr<Optimizer> adamw_;
  std::vector<at::Tensor> params_, grads_;  // by slot, in the order of memory
  std::vector<at::Tensor> buffers_;         // by slot; undefined for AdamW's
  std::vector<std::size_t> adamw_slots_;    // of its slots the numbers here
  std::vector<Matrix> matrices_;
  std::int64_t num_steps_ = 0;
};

}  // namespace

at::Tensor orthogonalise(const at::Tensor& matrix, int num_iterations, double eps) {
  constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;  // steep at 0
  const bool is_tall = matrix.size(0) > matrix.size(1);
  at::Tensor step = matrix.to(at::kBFloat16);
  if (is_tall) step = step.t();
  step = step / step.norm().clamp_min(eps);
  for (int i = 0; i < num_iterations; ++i) {
    const at::Tensor gram = step.mm(step.t());
    step = at::addmm(step, at::addmm(gram, gram, gram, kB, kC), step, kA);
  }
  return is_tall ? step.t() : step;
}

std::unique_ptr<Optimizer> make_optimizer(const MuonConfig& config, std::vector<ParamGroup> groups,
                                          const ParameterShards& shards) {
  return std::make_unique<Muon>(config, std::move(groups), shards);
}

std::unique_ptr<OptimizerPlan> make(const MuonConfig& config) {
  auto plan = plan_of(config);
  plan->rules = matrix_rules(plan->rules, config.adamw);
  return plan;
}

}  // namespace paceline::optim
