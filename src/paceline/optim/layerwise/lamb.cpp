#include "paceline/optim/layerwise/lamb.h"

#include "paceline/optim/layerwise/layerwise.h"
#include "paceline/tensor/shared_code.h"

#include <cmath>
#include <utility>

namespace paceline::optim {
namespace {

using std::sqrt;

// The direction holds the gradient before.
PACELINE_CODE_AND_TEXT(
    kLambCode, template <typename T>
               void lamb_element(T param, T exp_avg, T exp_avg_sq, T direction, T beta1, T share1,
                                 T share2, T scale, T root_scale, T eps, T added_decay,
                                 T& new_exp_avg, T& new_exp_avg_sq, T& new_direction) {
                 new_exp_avg = beta1 * exp_avg + share1 * direction;
                 new_exp_avg_sq = exp_avg_sq + share2 * (direction * direction - exp_avg_sq);
                 const T root = sqrt(new_exp_avg_sq) * root_scale + eps;
                 new_direction = new_exp_avg * scale / root + added_decay * param;
               })

PACELINE_CODE_AND_TEXT(
    kLambApplyCode, template <typename T>
                    void lamb_apply_element(T direction, T param, T lr, T decay, T& new_param) {
                      new_param = param * decay - lr * direction;
                    })

constexpr auto kLamb =
    tensor::element_update<&lamb_element<float>, &lamb_element<double>>("lamb_element", kLambCode);
constexpr auto kLambApply =
    tensor::element_update<&lamb_apply_element<float>, &lamb_apply_element<double>>(
        "lamb_apply_element", kLambApplyCode);

std::vector<double> lamb_scalars(const LambConfig& config, const ElementStep& step) {
  const auto number = static_cast<double>(step.number);
  const auto correction = [&](double beta) {
    return config.bias_correction ? 1 - std::pow(beta, number) : 1.0;
  };
  return {step.momentum,
          config.grad_averaging ? 1 - step.momentum : 1.0,
          1 - config.beta2,
          1 / correction(step.momentum),
          1 / std::sqrt(correction(config.beta2)),
          config.eps,
          step.added(config.decoupled_decay)};
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const LambConfig& config, std::vector<ParamGroup> groups,
                                          const ParameterShards& shards) {
  LayerRule rule{
      .name = "lamb",
      .states = {{"exp_avg"}, {"exp_avg_sq"}},
      .direction = kLamb,
      .num_direction_states = 2,
      .direction_scalars = [=](const ElementStep& step) { return lamb_scalars(config, step); },
      .apply = kLambApply,
      .apply_scalars =
          [=](const ElementStep& step) {
            return std::vector{step.lr, step.kept(config.decoupled_decay)};
          },
      .ratio =
          [=](const LayerNorms& norms, const ElementStep& step) {
            // timm measures parameters that have decayed.
            const double kept = step.kept(config.decoupled_decay);
            const at::Tensor ratio = or_one(norms.param * kept / norms.direction, norms);
            return config.trust_clip ? ratio.clamp_max(1.0) : ratio;
          },
      .always_adapts = config.always_adapt,
      .max_grad_norm = config.max_grad_norm,
      .momentum = config.beta1};
  return make_layerwise(std::move(rule), std::move(groups), shards);
}

std::unique_ptr<OptimizerPlan> make(const LambConfig& config) { return plan_of(config); }

}  // namespace paceline::optim
