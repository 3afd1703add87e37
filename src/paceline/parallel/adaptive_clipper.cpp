#include "paceline/parallel/adaptive_clipper.h"

#include "paceline/base/error.h"
#include "paceline/nn/module_tree.h"
#include "paceline/parallel/gradient_norm.h"
#include "paceline/parallel/squares.h"
#include "paceline/parallel/strategy.h"
#include "paceline/tensor/aten.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace paceline::parallel {
namespace {

/// The parts of units in a slot's tensor, a row each: a view.
at::Tensor rows_of(const at::Tensor& slot, const UnitSegment& segment) {
  const std::int64_t count = segment.num_units * segment.length;
  return slot.detach()
      .as_strided({slot.numel()}, {1})
      .narrow(0, segment.begin, count)
      .view({segment.num_units, segment.length});
}

/// The numbers of a segment's units, of all: a view.
at::Tensor of_units(const at::Tensor& numbers, const UnitSegment& segment) {
  return numbers.narrow(0, segment.first_unit, segment.num_units);
}

/// What gradients of a unit are multiplied by.
double factor_of(double weight_squares, double gradient_squares, const AdaptiveClipping& clipping) {
  const double most = std::max(std::sqrt(weight_squares), clipping.floor) * clipping.threshold;
  const double norm = std::sqrt(gradient_squares);
  return std::isfinite(norm) && norm > most ? most / norm : 1.0;
}

template <class T>
void scale_row(T* row, std::int64_t length, double factor) {
  const auto rounded = static_cast<T>(factor);
  if (rounded == 1) return;
  std::transform(row, row + length, row, [=](T value) { return value * rounded; });
}

/// Calls visit(pointer to the weights, pointer to the gradients, number of the unit, length) for
/// what a segment has of each unit, on this rank's threads.
template <class Visit>
void for_each_row(const at::Tensor& param, const at::Tensor& grad, const UnitSegment& segment,
                  const Visit& visit) {
  constexpr std::int64_t kWorthAThread = 32'768;  // elements
  const auto visit_all = [&](const auto* weights, auto* gradients) {
    at::parallel_for(0, segment.num_units, kWorthAThread / segment.length + 1,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t row = begin; row < end; ++row) {
                         const std::int64_t at = segment.begin + row * segment.length;
                         visit(weights + at, gradients + at,
                               static_cast<std::size_t>(segment.first_unit + row), segment.length);
                       }
                     });
  };
  if (grad.scalar_type() == at::kDouble) {
    visit_all(param.const_data_ptr<double>(), grad.mutable_data_ptr<double>());
  } else {
    visit_all(param.const_data_ptr<float>(), grad.mutable_data_ptr<float>());
  }
}

bool are_on_host(const std::vector<optim::ParamGroup>& groups) {
  return std::ranges::all_of(groups, [](const optim::ParamGroup& group) {
    return std::ranges::all_of(group.slots, [](const optim::ParamSlot& slot) {
      const auto dtype = slot.grad.scalar_type();
      return slot.grad.is_cpu() && (dtype == at::kFloat || dtype == at::kDouble);
    });
  });
}

}  // namespace

AdaptiveClipper::AdaptiveClipper(Strategy& strategy, const AdaptiveClipping& clipping, bool watches)
    : strategy_(strategy),
      clipping_(clipping),
      shards_(strategy.parameter_shards()),
      units_(shards_),
      is_on_host_(are_on_host(strategy.param_groups())) {
  for (const optim::ParamGroup& group : strategy.param_groups()) {
    for (const optim::ParamSlot& slot : group.slots) {
      for (const optim::ParamPiece& piece : slot.pieces) {
        for (const UnitSegment& segment : units_.segments(piece))
          segments_.push_back({slot.param, slot.grad, segment});
      }
    }
  }
  if (!watches || !is_on_host_) return;
  is_watching_ =
      strategy.watch_gradients([this](std::size_t parameter, const at::Tensor& gradient) {
        const at::Tensor& weight = strategy_.parameters()[parameter].tensor;
        clip_whole(weight, gradient, units_.of_parameter(static_cast<std::int64_t>(parameter)));
      });
}

AdaptiveClipper::~AdaptiveClipper() {
  if (is_watching_) strategy_.watch_gradients({});
}

void AdaptiveClipper::clip() {
  const at::NoGradGuard no_grad;
  if (is_watching_) return;  // it was done as they came
  if (is_on_host_) {
    clip_on_host();
  } else {
    clip_on_device();
  }
}

void AdaptiveClipper::clip_whole(const at::Tensor& weight, const at::Tensor& gradient,
                                 const UnitSegment& segment) const {
  if (gradient.numel() == 0) return;
  for_each_row(weight, gradient, segment, [&](auto* weights, auto* row, std::size_t, auto length) {
    const auto [of_weights, of_gradients] = squares_of_two(weights, row, length);
    scale_row(row, length, factor_of(of_weights, of_gradients, clipping_));
  });
}

void AdaptiveClipper::clip_on_host() const {
  const auto count = static_cast<std::size_t>(units_.count());
  std::vector<double> squares(2 * count);
  const std::span of_weights = std::span(squares).first(count);
  const std::span of_gradients = std::span(squares).last(count);
  for (const auto& [param, grad, segment] : segments_) {
    for_each_row(param, grad, segment,
                 [&](auto* weights, auto* row, std::size_t unit, auto length) {
                   const auto [own_weights, own_gradients] = squares_of_two(weights, row, length);
                   of_weights[unit] += own_weights;
                   of_gradients[unit] += own_gradients;
                 });
  }
  shards_.sum(at::from_blob(squares.data(), {2, units_.count()}, at::kDouble));
  for (const auto& [param, grad, segment] : segments_) {
    for_each_row(param, grad, segment, [&](auto*, auto* row, std::size_t unit, auto length) {
      scale_row(row, length, factor_of(of_weights[unit], of_gradients[unit], clipping_));
    });
  }
}

void AdaptiveClipper::clip_on_device() const {
  const at::Tensor squares =
      at::zeros({2, units_.count()}, at::device(shards_.device).dtype(at::kDouble));
  const at::Tensor of_weights = squares[0];
  const at::Tensor of_gradients = squares[1];
  for (const auto& [param, grad, segment] : segments_) {
    of_units(of_weights, segment).add_(squares_of_rows(rows_of(param, segment)));
    of_units(of_gradients, segment).add_(squares_of_rows(rows_of(grad, segment)));
  }
  shards_.sum(squares);
  const at::Tensor most = of_weights.sqrt().clamp_min_(clipping_.floor).mul_(clipping_.threshold);
  const at::Tensor norms = of_gradients.sqrt();
  const at::Tensor factors = at::where(norms.isfinite() & (norms > most), most / norms, 1.0);
  for (const auto& [param, grad, segment] : segments_) {
    const at::Tensor rows = rows_of(grad, segment);
    rows.mul_(of_units(factors, segment).unsqueeze(1).to(rows.scalar_type()));
  }
}

}  // namespace paceline::parallel
