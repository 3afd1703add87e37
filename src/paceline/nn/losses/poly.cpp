#include "paceline/nn/losses/poly.h"

#include "paceline/nn/loss_targets.h"

namespace paceline::nn {

at::Tensor Poly::per_sample(const at::Tensor& outputs, const at::Tensor& targets) const {
  const at::Tensor logits = outputs.to(loss_dtype(outputs));
  const at::Tensor wanted = smoothed(
      as_probabilities(targets, logits.size(1), logits.scalar_type()), config_.label_smoothing);
  const at::Tensor log_p = at::log_softmax(logits, 1);
  const at::Tensor losses =
      -(wanted * log_p).sum(1) + config_.epsilon * (wanted * (1.0 - log_p.exp())).sum(1);
  return of_counted(losses, targets);
}

std::unique_ptr<Loss> make(const PolyConfig& config) { return std::make_unique<Poly>(config); }

}  // namespace paceline::nn
