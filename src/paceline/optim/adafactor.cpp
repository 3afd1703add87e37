#include "paceline/optim/adafactor.h"

#include "paceline/optim/slot_lists.h"
#include "paceline/tensor/element_order.h"

#include <cmath>
#include <limits>
#include <utility>

namespace paceline::optim {
namespace {

/// The mean squares of a matrix's rows [.., A, 1] and columns [.., 1, B], and where their sums lie
/// among those of all parameters. Undefined for a vector.
struct Factors {
  at::Tensor rows, columns;
  std::int64_t first_sum = 0;
};

double epsilon_of(at::ScalarType dtype) {
  return dtype == at::kDouble ? std::numeric_limits<double>::epsilon()
                              : static_cast<double>(std::numeric_limits<float>::epsilon());
}

/// What this rank has of a parameter: views [n].
struct Part {
  std::size_t group = 0;
  ParamPiece piece;
  at::Tensor param;
  at::Tensor grad_of_slot;  ///< whose memory may be another at each step
  at::Tensor variance;      ///< undefined for part of a matrix

  at::Tensor grad() const { return part_of(grad_of_slot, piece); }
};

class Adafactor final : public Optimizer {
 public:
  Adafactor(const AdafactorConfig& config, std::vector<ParamGroup> groups, ParameterShards shards)
      : config_(config), groups_(std::move(groups)), shards_(std::move(shards)) {
    number_parameters(groups_, shards_);
    lists_ = make_slot_lists(groups_);
    make_factors();
    make_parts();
  }

  std::string_view name() const override { return "adafactor"; }

  using Optimizer::step;
  void step(double lr, const at::Tensor& skip) override {
    const at::NoGradGuard no_grad;
    ++num_steps_;
    const at::Tensor sums = measure();
    follow_squares(sums, skip);
    apply(step_sizes(sums.narrow(0, 0, num_parameters())), lr, skip);
    for (const SlotList& list : lists_) bump_versions(list);
  }

  std::vector<SlotState> state() const override { return {{"variance", variances_}}; }
  std::vector<ParameterState> parameter_state() const override {
    ParameterState rows{"row_var", {}}, columns{"col_var", {}};
    for (const Factors& factors : factors_) {
      rows.tensors.push_back(factors.rows);
      columns.tensors.push_back(factors.columns);
    }
    return {std::move(rows), std::move(columns)};
  }
  std::int64_t num_steps() const override { return num_steps_; }
  void set_num_steps(std::int64_t num_steps) override { num_steps_ = num_steps; }
  std::vector<ParamGroup>& groups() override { return groups_; }

 private:
  std::int64_t num_parameters() const { return std::ssize(shards_.parameters); }
  const WholeParameter& parameter_of(const Part& part) const {
    return shards_.parameters[static_cast<std::size_t>(part.piece.parameter)];
  }
  const Factors& factors_of(const Part& part) const {
    return factors_[static_cast<std::size_t>(part.piece.parameter)];
  }

  void make_factors() {
    std::vector<double> sizes;
    num_sums_ = num_parameters();
    for (const WholeParameter& parameter : shards_.parameters) {
      Factors& factors = factors_.emplace_back();
      sizes.push_back(static_cast<double>(parameter.numel()));
      if (!groups_[parameter.group].is_matrix) continue;
      const auto options = at::device(shards_.device).dtype(parameter.dtype);
      std::vector<std::int64_t> rows = parameter.sizes, columns = parameter.sizes;
      rows.back() = columns[columns.size() - 2] = 1;
      factors = {at::zeros(rows, options), at::zeros(columns, options), num_sums_};
      num_sums_ += factors.rows.numel() + factors.columns.numel();
    }
    roots_of_sizes_ = at::tensor(sizes, at::kDouble).sqrt().to(shards_.device);
  }

  void make_parts() {
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      for (const ParamSlot& slot : groups_[group].slots) {
        const at::Tensor param = slot.param.detach();
        at::Tensor variance;
        if (!groups_[group].is_matrix) variance = at::zeros_like(param, at::MemoryFormat::Preserve);
        variances_.push_back(variance);
        for (const ParamPiece& piece : slot.pieces) {
          parts_.push_back({group, piece, part_of(param, piece), slot.grad,
                            variance.defined() ? part_of(variance, piece) : at::Tensor()});
        }
      }
    }
  }

  static at::Tensor row_sums(const at::Tensor& sums, const Factors& of) {
    return sums.narrow(0, of.first_sum, of.rows.numel()).view(of.rows.sizes());
  }
  static at::Tensor column_sums(const at::Tensor& sums, const Factors& of) {
    return sums.narrow(0, of.first_sum + of.rows.numel(), of.columns.numel())
        .view(of.columns.sizes());
  }

  /// Sums of squares over the ranks: of each parameter, then of each matrix's gradient by row and
  /// by column. float64 [num_sums].
  at::Tensor measure() {
    const at::Tensor sums = at::zeros({num_sums_}, at::device(shards_.device).dtype(at::kDouble));
    for (const Part& part : parts_) {
      sums[part.piece.parameter].add_(at::dot(part.param, part.param));
      if (part.variance.defined()) continue;
      const at::Tensor squares = whole(part.grad().square(), part);
      row_sums(sums, factors_of(part)).add_(squares.sum(-1, /*keepdim=*/true));
      column_sums(sums, factors_of(part)).add_(squares.sum(-2, /*keepdim=*/true));
    }
    shards_.sum(sums);
    return sums;
  }

  /// A parameter with these elements and zeros, in its own dimensions.
  at::Tensor whole(const at::Tensor& elements, const Part& part) const {
    const WholeParameter& parameter = parameter_of(part);
    at::Tensor flat = elements;
    if (elements.numel() < parameter.numel()) {
      flat = at::zeros({parameter.numel()}, elements.options());
      flat.narrow(0, part.piece.offset, elements.numel()).copy_(elements);
    }
    return tensor::whole_of(flat, parameter.sizes, parameter.order);
  }

  void follow_squares(const at::Tensor& sums, const at::Tensor& skip) {
    const double share = std::pow(static_cast<double>(num_steps_), config_.beta2_decay);
    const auto follow = [&](const at::Tensor& mean, const at::Tensor& now) {
      keep_or_take(mean, mean.lerp(now.to(mean.scalar_type()), share), skip);
    };
    for (const Factors& factors : factors_) {
      if (!factors.rows.defined()) continue;
      follow(factors.rows, row_sums(sums, factors) / factors.columns.size(-1));
      follow(factors.columns, column_sums(sums, factors) / factors.rows.size(-2));
    }
    for (const Part& part : parts_) {
      if (part.variance.defined()) follow(part.variance, part.grad().square());
    }
  }

  /// The gradient over the root of the mean squares, which is at least eps1.
  at::Tensor direction(const Part& part) const {
    const double eps1 = config_.eps1.value_or(epsilon_of(part.grad().scalar_type()));
    at::Tensor squares = part.variance;
    if (!squares.defined()) {
      const auto& [rows, columns, first_sum] = factors_of(part);
      const at::Tensor all = (rows * columns).div_(rows.mean(-2, /*keepdim=*/true).clamp_min(eps1));
      squares = tensor::cut(all, parameter_of(part).order, part.piece.offset,
                            part.piece.offset + part.grad().numel());
    }
    return squares.clamp_min(eps1 * eps1).rsqrt_().mul_(part.grad());
  }

  /// What multiplies each parameter's direction, but for the learning rate: the parameter's size,
  /// over that of a direction which is too long. `squares`: of the parameters.
  at::Tensor step_sizes(const at::Tensor& squares) {
    const at::Tensor lengths = at::zeros_like(squares);
    for (const Part& part : parts_) {
      const at::Tensor elements = direction(part);
      lengths[part.piece.parameter].add_(at::dot(elements, elements));
    }
    shards_.sum(lengths);
    const at::Tensor excess = (lengths.sqrt() / (roots_of_sizes_ * config_.d)).clamp_min(1.0);
    return (squares.sqrt() / roots_of_sizes_).clamp_min(config_.eps2) / excess;
  }

  void apply(const at::Tensor& sizes, double lr, const at::Tensor& skip) {
    const double most = 1 / std::sqrt(static_cast<double>(num_steps_));
    for (const Part& part : parts_) {
      const ParamGroup& group = groups_[part.group];
      const double own_lr = lr * group.lr_scale;
      const at::Tensor size = sizes[part.piece.parameter] * -std::min(own_lr, most);
      const at::Tensor next = (part.param * (1 - own_lr * group.weight_decay))
                                  .addcmul_(direction(part), size.to(part.param.scalar_type()));
      keep_or_take(part.param, next, skip);
    }
  }

  AdafactorConfig config_;
  std::vector<ParamGroup> groups_;
  ParameterShards shards_;
  std::vector<SlotList> lists_;
  std::vector<at::Tensor> variances_;  // by slot; undefined for matrices
  std::vector<Part> parts_;
  std::vector<Factors> factors_;  // by parameter
  std::int64_t num_sums_ = 0;
  at::Tensor roots_of_sizes_;  // of the parameters' numbers of elements
  std::int64_t num_steps_ = 0;
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const AdafactorConfig& config,
                                          std::vector<ParamGroup> groups,
                                          const ParameterShards& shards) {
  return std::make_unique<Adafactor>(config, std::move(groups), shards);
}

std::unique_ptr<OptimizerPlan> make(const AdafactorConfig& config) {
  auto plan = plan_of(config);
  plan->rules = matrix_rules(plan->rules, {});
  return plan;
}

}  // namespace paceline::optim
