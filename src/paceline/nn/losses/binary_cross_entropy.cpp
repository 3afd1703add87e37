#include "paceline/nn/losses/binary_cross_entropy.h"

#include "paceline/nn/loss_targets.h"

namespace paceline::nn {

at::Tensor BinaryCrossEntropy::per_sample(const at::Tensor& outputs,
                                          const at::Tensor& targets) const {
  const at::Tensor logits = outputs.to(loss_dtype(outputs));
  at::Tensor wanted = as_probabilities(targets, logits.size(1), logits.scalar_type());
  if (!targets.is_floating_point()) wanted = smoothed(wanted, config_.label_smoothing);
  if (config_.target_threshold)
    wanted = wanted.gt(*config_.target_threshold).to(logits.scalar_type());
  std::optional<at::Tensor> positive_weight;
  if (config_.positive_weight != 1.0)
    positive_weight = at::full({1}, config_.positive_weight, logits.options());
  const at::Tensor losses = at::binary_cross_entropy_with_logits(
      logits, wanted, /*weight=*/std::nullopt, positive_weight, at::Reduction::None);
  return of_counted(config_.sum_classes ? losses.sum(1) : losses.mean(1), targets);
}

std::unique_ptr<Loss> make(const BinaryCrossEntropyConfig& config) {
  return std::make_unique<BinaryCrossEntropy>(config);
}

}  // namespace paceline::nn
