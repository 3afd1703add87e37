#include "paceline/optim/grad_scaler.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <cmath>

#include <nlohmann/json.hpp>

namespace paceline::optim {

GradScaler::GradScaler(const GradScalerConfig& config)
    : config_(config), scale_(static_cast<float>(config.init_scale)) {}

double GradScaler::inverse_scale() const {
  return static_cast<double>(static_cast<float>(1.0 / scale()));
}

void GradScaler::update(bool found_inf) {
  if (found_inf) {
    scale_ = static_cast<float>(scale() * config_.backoff_factor);
    growth_tracker_ = 0;
    ++num_skipped_;
  } else if (++growth_tracker_ == config_.growth_interval) {
    const auto grown = static_cast<float>(scale() * config_.growth_factor);
    if (std::isfinite(grown)) scale_ = grown;
    growth_tracker_ = 0;
  }
}

nlohmann::json GradScaler::state_dict() const {
  return {{"scale", scale_}, {"growth_tracker", growth_tracker_}, {"num_skipped", num_skipped_}};
}

void GradScaler::load_state_dict(const nlohmann::json& saved) {
  scale_ = saved.at("scale").get<float>();
  growth_tracker_ = saved.at("growth_tracker").get<std::int64_t>();
  num_skipped_ = saved.at("num_skipped").get<std::int64_t>();
}

at::Tensor unscale(std::span<const at::Tensor> gradients, double factor) {
  PACELINE_CHECK(!gradients.empty(), "no gradient to unscale");
  const at::NoGradGuard no_grad;
  const auto options = gradients.front().options().dtype(at::kFloat).requires_grad(false);
  at::Tensor found_inf = at::zeros({}, options);
  const at::Tensor scalar = at::full({}, factor, options);
  // The kernel wants tensors of one type in a call.
  for (const at::Tensor& gradient : gradients)
    at::_amp_foreach_non_finite_check_and_unscale_(gradient, found_inf, scalar);
  return found_inf;
}

}  // namespace paceline::optim
