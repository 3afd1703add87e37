#include "paceline/optim/decoupled.h"

#include "paceline/optim/elementwise.h"
#include "paceline/tensor/shared_code.h"

#include <cmath>
#include <utility>

namespace paceline::optim {
namespace {

using std::sqrt;

PACELINE_CODE_AND_TEXT(
    kPlainCode,
    template <typename T> void plain_element(T grad, T param, T kept, T lr, T& new_param) {
      new_param = param * kept - lr * grad;
    })

PACELINE_CODE_AND_TEXT(
    kSgdwCode, template <typename T> void sgdw_element(T grad, T param, T buffer, T kept,
                                                       T momentum, T share, T of_grad, T of_buffer,
                                                       T lr, T& new_param, T& new_buffer) {
      new_buffer = momentum * buffer + share * grad;
      new_param = param * kept - lr * (of_grad * grad + of_buffer * new_buffer);
    })

PACELINE_CODE_AND_TEXT(
    kAdamwCode,
    template <typename T> void adamw_element(T grad, T param, T exp_avg, T exp_avg_sq, T kept,
                                             T share1, T share2, T correction, T eps, T length,
                                             T& new_param, T& new_exp_avg, T& new_exp_avg_sq) {
      new_exp_avg = exp_avg + share1 * (grad - exp_avg);
      new_exp_avg_sq = exp_avg_sq + share2 * (grad * grad - exp_avg_sq);
      new_param = param * kept - length * new_exp_avg / (sqrt(new_exp_avg_sq) * correction + eps);
    })

constexpr auto kPlain = tensor::element_update<&plain_element<float>, &plain_element<double>>(
    "plain_element", kPlainCode);
constexpr auto kSgdw =
    tensor::element_update<&sgdw_element<float>, &sgdw_element<double>>("sgdw_element", kSgdwCode);
constexpr auto kAdamw = tensor::element_update<&adamw_element<float>, &adamw_element<double>>(
    "adamw_element", kAdamwCode);

/// What decay leaves of a parameter; groups whose learning rate is scaled decay like all others.
double kept(const ElementStep& step, double base_lr) {
  return 1 - step.weight_decay * (base_lr > 0 ? step.unscaled_lr / base_lr : 1);
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const DecoupledSgdwConfig& config,
                                          std::vector<ParamGroup> groups) {
  ElementRule rule{.name = "decoupled_sgdw", .update = kPlain};
  if (config.momentum == 0) {
    rule.scalars = [=](const ElementStep& step) -> std::vector<double> {
      return {kept(step, config.lr), step.lr};
    };
    return make_elementwise(std::move(rule), std::move(groups));
  }
  rule.update = kSgdw;
  rule.states = {{"momentum_buffer"}};
  rule.momentum = config.momentum;
  rule.scalars = [=](const ElementStep& step) -> std::vector<double> {
    // The momentum starts as the whole gradient.
    const double share = step.number == 1 ? 1 : 1 - config.dampening;
    const double of_grad = config.nesterov ? 1 : 0;
    const double of_buffer = config.nesterov ? step.momentum : 1;
    return {kept(step, config.lr), step.momentum, share, of_grad, of_buffer, step.lr};
  };
  return make_elementwise(std::move(rule), std::move(groups));
}

std::unique_ptr<Optimizer> make_optimizer(const DecoupledAdamWConfig& config,
                                          std::vector<ParamGroup> groups) {
  const auto scalars = [=](const ElementStep& step) -> std::vector<double> {
    const auto number = static_cast<double>(step.number);
    return {kept(step, config.lr),
            1 - step.momentum,
            1 - config.beta2,
            1 / std::sqrt(1 - std::pow(config.beta2, number)),
            config.eps,
            step.lr / (1 - std::pow(step.momentum, number))};
  };
  ElementRule rule{"decoupled_adamw", kAdamw, {{"exp_avg"}, {"exp_avg_sq"}}, scalars, config.beta1};
  return make_elementwise(std::move(rule), std::move(groups));
}

std::unique_ptr<OptimizerPlan> make(const DecoupledSgdwConfig& config) { return plan_of(config); }
std::unique_ptr<OptimizerPlan> make(const DecoupledAdamWConfig& config) { return plan_of(config); }

}  // namespace paceline::optim
