#include "paceline/parallel/gradient_limits.h"

#include "paceline/parallel/gradient_clipping.h"

namespace paceline::parallel {

GradientLimits::GradientLimits(const Clipping& clipping, Strategy& strategy,
                               optim::Optimizer& optimizer, bool watches)
    : clipping_(clipping), strategy_(strategy), optimizer_(optimizer) {
  if (clipping.norm) norm_.emplace(strategy, watches);
  if (clipping.adaptive) adaptive_.emplace(strategy, *clipping.adaptive, watches);
}

at::Tensor GradientLimits::apply(bool wants_norm) {
  at::Tensor norm;
  if (norm_) {
    norm = norm_->take();
    clip_by(norm);
  } else if (wants_norm) {
    norm = grad_norm(strategy_);
  }
  if (clipping_.value) clip_grad_value(strategy_, *clipping_.value);
  if (adaptive_) adaptive_->clip();
  return norm;
}

void GradientLimits::clip_by(const at::Tensor& norm) {
  const bool is_all = !clipping_.value;  // what follows would see gradients that are not scaled
  if (is_all && norm.is_cpu() &&
      optimizer_.scale_next_gradients(clip_factor(norm, *clipping_.norm).item<double>()))
    return;
  scale_to_norm(strategy_.gradients(), norm, *clipping_.norm);
}

}  // namespace paceline::parallel
