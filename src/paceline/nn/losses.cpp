#include "paceline/nn/losses.h"

#include "paceline/base/error.h"

#include <optional>

namespace paceline::nn {

CrossEntropy::CrossEntropy(const CrossEntropyConfig& config) : config_(config) {
  if (!(config.label_smoothing >= 0.0 && config.label_smoothing <= 1.0)) {
    throw base::ConfigError(
        fmt::format("label_smoothing is in [0, 1]; got {}", config.label_smoothing));
  }
}

at::Tensor CrossEntropy::sum(const at::Tensor& outputs, const at::Tensor& targets) const {
  return at::cross_entropy_loss(outputs, targets, /*weight=*/std::nullopt, at::Reduction::Sum,
                                /*ignore_index=*/-100, config_.label_smoothing);
}

std::unique_ptr<Loss> make(const CrossEntropyConfig& config) {
  return std::make_unique<CrossEntropy>(config);
}

}  // namespace paceline::nn
