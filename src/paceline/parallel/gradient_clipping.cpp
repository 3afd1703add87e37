#include "paceline/parallel/gradient_clipping.h"

#include "paceline/optim/grad_scaler.h"
#include "paceline/parallel/gradient_norm.h"
#include "paceline/tensor/aten.h"

namespace paceline::parallel {

// A term that is not finite makes a sum that is not: ranks that hold the same sums come to the same
// answer without asking each other.
at::Tensor unscale_gradients(Strategy& strategy, double factor) {
  at::Tensor any = optim::unscale(strategy.gradients(), factor);
  strategy.reduce_over_shards(any, comm::ReduceOp::kMax, "gradients are finite");
  return any;
}

at::Tensor grad_norm(Strategy& strategy) { return GradientNorm(strategy).take(); }

at::Tensor clip_grad_norm(Strategy& strategy, double max_norm) {
  at::Tensor norm = grad_norm(strategy);
  scale_to_norm(strategy.gradients(), norm, max_norm);
  return norm;
}

void clip_grad_value(Strategy& strategy, double max_value) {
  const at::NoGradGuard no_grad;
  for (const at::Tensor& gradients : strategy.gradients()) gradients.clamp_(-max_value, max_value);
}

}  // namespace paceline::parallel
