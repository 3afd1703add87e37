#include "paceline/parallel/gradient_norm.h"

#include "paceline/base/error.h"
#include "paceline/parallel/squares.h"
#include "paceline/parallel/strategy.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace paceline::parallel {
namespace {

constexpr std::int64_t kRun = 1024;

}  // namespace

at::Tensor squares_of_rows(const at::Tensor& rows) {
  const auto dtype = rows.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return at::linalg_vector_norm(rows, 2, at::IntArrayRef{1}, /*keepdim=*/false, dtype)
      .to(at::kDouble)
      .square();
}

at::Tensor flat_norm(std::span<const at::Tensor> flats) {
  const at::NoGradGuard no_grad;
  at::Tensor total;
  for (const at::Tensor& flat : flats) {
    const std::int64_t whole = flat.numel() / kRun * kRun;
    at::Tensor sum = squares_of_rows(flat.narrow(0, 0, whole).view({-1, kRun})).sum();
    if (whole < flat.numel()) {
      sum = sum + squares_of_rows(flat.narrow(0, whole, flat.numel() - whole).view({1, -1})).sum();
    }
    total = total.defined() ? total + sum : sum;
  }
  PACELINE_CHECK(total.defined(), "the norm of no tensor");
  return total.sqrt();
}

at::Tensor clip_factor(const at::Tensor& norm, double max_norm) {
  const at::NoGradGuard no_grad;
  return at::where(norm.isfinite(), max_norm / (norm + 1e-6), 1.0).clamp_max_(1.0);
}

void scale_to_norm(std::span<const at::Tensor> flats, const at::Tensor& norm, double max_norm) {
  const at::NoGradGuard no_grad;
  const at::Tensor factor = clip_factor(norm, max_norm);
  // Where reading costs nothing a pass over all gradients may be saved.
  if (factor.is_cpu() && factor.item<double>() == 1.0) return;
  for (const at::Tensor& flat : flats) flat.mul_(factor);
}

GradientNorm::GradientNorm(Strategy& strategy, bool watches) : strategy_(strategy) {
  const optim::ParameterShards shards = strategy.parameter_shards();
  if (!shards.device.is_cpu()) return;
  squares_.resize(shards.parameters.size());
  for (const optim::ParamGroup& group : strategy.param_groups()) {
    for (const optim::ParamSlot& slot : group.slots) {
      for (const optim::ParamPiece& piece : slot.pieces)
        pieces_.push_back(
            {slot.grad, piece.begin, piece.end, static_cast<std::size_t>(piece.parameter)});
    }
  }
  if (!watches) return;
  is_watching_ =
      strategy.watch_gradients([this](std::size_t parameter, const at::Tensor& gradient) {
        squares_[parameter] = sum_of_squares(gradient, 0, gradient.numel());
      });
}

GradientNorm::~GradientNorm() {
  if (is_watching_) strategy_.watch_gradients({});
}

// The root of a square is the number itself, to the last bit: where nothing is summed over ranks
// the norm is that of the tensors.
at::Tensor GradientNorm::take() {
  const at::NoGradGuard no_grad;
  const at::Tensor sum = own_squares();
  strategy_.reduce_over_shards(sum, comm::ReduceOp::kSum, "grad_norm");
  return sum.sqrt_();
}

at::Tensor GradientNorm::own_squares() {
  if (squares_.empty()) return flat_norm(strategy_.gradients()).square_();
  if (!is_watching_ || !strategy_.watched_all()) {
    std::ranges::fill(squares_, 0.0);
    for (const auto& [grad, begin, end, parameter] : pieces_)
      squares_[parameter] += sum_of_squares(grad, begin, end);
  }
  const double sum = std::accumulate(squares_.begin(), squares_.end(), 0.0);
  std::ranges::fill(squares_, 0.0);  // a parameter that is frozen from now on is seen no more
  return at::scalar_tensor(sum, at::kDouble);
}

}  // namespace paceline::parallel
