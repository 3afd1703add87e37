#include "paceline/optim/layerwise/lars.h"

#include "paceline/base/error.h"
#include "paceline/optim/layerwise/layerwise.h"
#include "paceline/tensor/shared_code.h"

#include <utility>

namespace paceline::optim {
namespace {

// The direction holds the gradient before.
PACELINE_CODE_AND_TEXT(
    kLarsCode,
    template <typename T> void lars_element(T param, T direction, T added_decay, T& new_direction) {
      new_direction = direction + added_decay * param;
    })

// As in SGD the momentum starts as the first gradient itself: it keeps 0 of what it was, and takes
// all of it.
PACELINE_CODE_AND_TEXT(
    kLarsMomentumCode,
    template <typename T>
    void lars_momentum_element(T direction, T param, T buffer, T lr, T kept, T taken,
                               T of_direction, T of_buffer, T& new_param, T& new_buffer) {
      new_buffer = kept * buffer + taken * direction;
      new_param = param - lr * (of_direction * direction + of_buffer * new_buffer);
    })

PACELINE_CODE_AND_TEXT(
    kLarsPlainCode,
    template <typename T> void lars_plain_element(T direction, T param, T lr, T& new_param) {
      new_param = param - lr * direction;
    })

constexpr auto kLars =
    tensor::element_update<&lars_element<float>, &lars_element<double>>("lars_element", kLarsCode);
constexpr auto kLarsMomentum =
    tensor::element_update<&lars_momentum_element<float>, &lars_momentum_element<double>>(
        "lars_momentum_element", kLarsMomentumCode);
constexpr auto kLarsPlain =
    tensor::element_update<&lars_plain_element<float>, &lars_plain_element<double>>(
        "lars_plain_element", kLarsPlainCode);

std::vector<double> momentum_scalars(const LarsConfig& config, const ElementStep& step) {
  const bool is_first = step.number == 1;
  return {step.lr, is_first ? 0 : step.momentum, is_first ? 1 : 1 - config.dampening,
          config.nesterov ? 1.0 : 0.0, config.nesterov ? step.momentum : 1};
}

at::Tensor lars_ratio(const LarsConfig& config, const LayerNorms& norms, const ElementStep& step) {
  const at::Tensor denominator = norms.direction + norms.param * step.weight_decay + config.eps;
  const at::Tensor ratio = or_one(config.trust_coeff * norms.param / denominator, norms);
  return config.trust_clip ? (ratio / step.lr).clamp_max(1.0) : ratio;
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const LarsConfig& config, std::vector<ParamGroup> groups,
                                          const ParameterShards& shards) {
  if (config.nesterov && (config.momentum == 0 || config.dampening != 0)) {
    throw base::ConfigError(
        fmt::format("lars: nesterov needs a momentum above 0 and dampening 0, got momentum {} and "
                    "dampening {}",
                    config.momentum, config.dampening));
  }
  LayerRule rule{
      .name = "lars",
      .states = {},
      .direction = kLars,
      .direction_scalars = [](const ElementStep& step) { return std::vector{step.weight_decay}; },
      .apply = kLarsPlain,
      .apply_scalars = [](const ElementStep& step) { return std::vector{step.lr}; },
      .ratio = [=](const LayerNorms& norms,
                   const ElementStep& step) { return lars_ratio(config, norms, step); },
      .measures_gradient = true,
      .always_adapts = config.always_adapt};
  if (config.momentum > 0) {
    rule.states = {{"momentum_buffer"}};
    rule.apply = kLarsMomentum;
    rule.apply_scalars = [=](const ElementStep& step) { return momentum_scalars(config, step); };
    rule.momentum = config.momentum;
  }
  return make_layerwise(std::move(rule), std::move(groups), shards);
}

std::unique_ptr<OptimizerPlan> make(const LarsConfig& config) { return plan_of(config); }

}  // namespace paceline::optim
