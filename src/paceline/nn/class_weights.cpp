#include "paceline/nn/class_weights.h"

#include "paceline/base/error.h"
#include "paceline/nn/loss_targets.h"

namespace paceline::nn {

std::optional<at::Tensor> ClassWeights::beside(const at::Tensor& outputs) const {
  if (weights_.empty()) return std::nullopt;
  const at::ScalarType dtype = loss_dtype(outputs);
  const std::lock_guard lock(mutex_);
  if (!placed_.defined() || placed_.device() != outputs.device() || placed_.scalar_type() != dtype)
    placed_ = at::tensor(weights_, at::kDouble).to(outputs.device(), dtype);
  return placed_;
}

void ClassWeights::check_num_classes(std::int64_t num_classes) const {
  if (weights_.empty() || std::ssize(weights_) == num_classes) return;
  throw base::ConfigError(fmt::format(
      "loss.class_weights has {} numbers, and the network tells {} classes: write one for each",
      weights_.size(), num_classes));
}

}  // namespace paceline::nn
