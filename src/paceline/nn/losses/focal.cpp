#include "paceline/nn/losses/focal.h"

#include "paceline/nn/loss_targets.h"

namespace paceline::nn {
namespace {

/// (1 - p)^gamma with a slope also where p is 1.
at::Tensor focus(const at::Tensor& probability, double gamma) {
  constexpr double kLeast = 1e-12;
  return (1.0 - probability).clamp_min(kLeast).pow(gamma);
}

}  // namespace

at::Tensor Focal::of_softmax(const at::Tensor& logits, const at::Tensor& wanted) const {
  const at::Tensor log_p = at::log_softmax(logits, 1);
  return -wanted * focus(log_p.exp(), config_.gamma) * log_p;
}

at::Tensor Focal::of_sigmoid(const at::Tensor& logits, const at::Tensor& wanted) const {
  const at::Tensor p = at::sigmoid(logits);
  const at::Tensor p_wanted = p * wanted + (1.0 - p) * (1.0 - wanted);
  const at::Tensor losses =
      at::binary_cross_entropy_with_logits(logits, wanted, /*weight=*/std::nullopt,
                                           /*pos_weight=*/std::nullopt, at::Reduction::None) *
      focus(p_wanted, config_.gamma);
  if (!config_.alpha) return losses;
  return (*config_.alpha * wanted + (1.0 - *config_.alpha) * (1.0 - wanted)) * losses;
}

at::Tensor Focal::per_sample(const at::Tensor& outputs, const at::Tensor& targets) const {
  const at::Tensor logits = outputs.to(loss_dtype(outputs));
  const at::Tensor wanted = smoothed(
      as_probabilities(targets, logits.size(1), logits.scalar_type()), config_.label_smoothing);
  at::Tensor losses =
      config_.over == FocalOver::kSoftmax ? of_softmax(logits, wanted) : of_sigmoid(logits, wanted);
  if (const auto weights = weights_.beside(outputs)) losses = losses * *weights;
  return of_counted(losses.sum(1), targets);
}

std::unique_ptr<Loss> make(const FocalConfig& config) { return std::make_unique<Focal>(config); }

}  // namespace paceline::nn
