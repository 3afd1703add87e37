#include "paceline/nn/losses.h"

#include "paceline/base/error.h"
#include "paceline/nn/loss_targets.h"

#include <optional>

namespace paceline::nn {

CrossEntropy::CrossEntropy(const CrossEntropyConfig& config)
    : config_(config), weights_(config.class_weights) {
  if (!(config.label_smoothing >= 0.0 && config.label_smoothing <= 1.0)) {
    throw base::ConfigError(
        fmt::format("label_smoothing is in [0, 1]; got {}", config.label_smoothing));
  }
}

at::Tensor CrossEntropy::reduced(const at::Tensor& outputs, const at::Tensor& targets,
                                 at::Reduction::Reduction reduction) const {
  const bool are_probabilities = targets.is_floating_point();
  return at::cross_entropy_loss(
      outputs, are_probabilities ? smoothed(targets, config_.label_smoothing) : targets,
      weights_.beside(outputs), reduction, /*ignore_index=*/-100,
      are_probabilities ? 0.0 : config_.label_smoothing);
}

at::Tensor CrossEntropy::per_sample(const at::Tensor& outputs, const at::Tensor& targets) const {
  return reduced(outputs, targets, at::Reduction::None);
}

at::Tensor CrossEntropy::sum(const at::Tensor& outputs, const at::Tensor& targets) const {
  return reduced(outputs, targets, at::Reduction::Sum);
}

void CrossEntropy::check_num_outputs(std::int64_t num_outputs) const {
  weights_.check_num_classes(num_outputs);
}

std::unique_ptr<Loss> make(const CrossEntropyConfig& config) {
  return std::make_unique<CrossEntropy>(config);
}

}  // namespace paceline::nn
