#include "paceline/optim/rmsprop.h"

#include "paceline/optim/elementwise.h"
#include "paceline/tensor/shared_code.h"

#include <cmath>
#include <utility>

namespace paceline::optim {
namespace {

using std::sqrt;

// `eps_in` is added before the root and `eps_out` behind it, `decay` is a factor on the parameter
// and `added_decay` one on what of it is added to the gradient. A momentum is one of gradients
// times `gain`.

PACELINE_CODE_AND_TEXT(
    kPlainCode,
    template <typename T>
    void rmsprop_element(T grad, T param, T square_avg, T lr, T decay, T added_decay, T share,
                         T eps_in, T eps_out, T& new_param, T& new_square_avg) {
      const T gradient = grad + added_decay * param;
      new_square_avg = square_avg + share * (gradient * gradient - square_avg);
      new_param = param * decay - lr * gradient / (sqrt(new_square_avg + eps_in) + eps_out);
    })

PACELINE_CODE_AND_TEXT(
    kMomentumCode,
    template <typename T>
    void rmsprop_momentum_element(T grad, T param, T square_avg, T buffer, T lr, T decay,
                                  T added_decay, T share, T eps_in, T eps_out, T momentum, T gain,
                                  T& new_param, T& new_square_avg, T& new_buffer) {
      const T gradient = grad + added_decay * param;
      new_square_avg = square_avg + share * (gradient * gradient - square_avg);
      new_buffer = momentum * buffer + gain * gradient / (sqrt(new_square_avg + eps_in) + eps_out);
      new_param = param * decay - lr * new_buffer;
    })

PACELINE_CODE_AND_TEXT(
    kCenteredCode,
    template <typename T>
    void rmsprop_centered_element(T grad, T param, T square_avg, T grad_avg, T lr, T decay,
                                  T added_decay, T share, T eps_in, T eps_out, T& new_param,
                                  T& new_square_avg, T& new_grad_avg) {
      const T gradient = grad + added_decay * param;
      new_square_avg = square_avg + share * (gradient * gradient - square_avg);
      new_grad_avg = grad_avg + share * (gradient - grad_avg);
      const T variance = new_square_avg - new_grad_avg * new_grad_avg;
      new_param = param * decay - lr * gradient / (sqrt(variance + eps_in) + eps_out);
    })

PACELINE_CODE_AND_TEXT(
    kCenteredMomentumCode,
    template <typename T>
    void rmsprop_centered_momentum_element(T grad, T param, T square_avg, T grad_avg, T buffer,
                                           T lr, T decay, T added_decay, T share, T eps_in,
                                           T eps_out, T momentum, T gain, T& new_param,
                                           T& new_square_avg, T& new_grad_avg, T& new_buffer) {
      const T gradient = grad + added_decay * param;
      new_square_avg = square_avg + share * (gradient * gradient - square_avg);
      new_grad_avg = grad_avg + share * (gradient - grad_avg);
      const T variance = new_square_avg - new_grad_avg * new_grad_avg;
      new_buffer = momentum * buffer + gain * gradient / (sqrt(variance + eps_in) + eps_out);
      new_param = param * decay - lr * new_buffer;
    })

constexpr auto kPlain = tensor::element_update<&rmsprop_element<float>, &rmsprop_element<double>>(
    "rmsprop_element", kPlainCode);
constexpr auto kMomentum =
    tensor::element_update<&rmsprop_momentum_element<float>, &rmsprop_momentum_element<double>>(
        "rmsprop_momentum_element", kMomentumCode);
constexpr auto kCentered =
    tensor::element_update<&rmsprop_centered_element<float>, &rmsprop_centered_element<double>>(
        "rmsprop_centered_element", kCenteredCode);

constexpr auto kCenteredMomentum =
    tensor::element_update<&rmsprop_centered_momentum_element<float>,
                           &rmsprop_centered_momentum_element<double>>(
        "rmsprop_centered_momentum_element", kCenteredMomentumCode);

/// The parts of both that depend on the same options.
template <class Config>
ElementRule rule_of(const Config& config, std::string_view name, double first_square) {
  std::vector<ElementRule::State> states{{"square_avg", first_square}};
  if (config.centered) states.push_back({"grad_avg"});
  if (config.momentum > 0) states.push_back({"momentum_buffer"});
  const tensor::ElementUpdate& with_momentum = config.centered ? kCenteredMomentum : kMomentum;
  const tensor::ElementUpdate& without = config.centered ? kCentered : kPlain;
  ElementRule rule{name, config.momentum > 0 ? with_momentum : without, std::move(states), {}};
  if (config.momentum > 0) rule.momentum = config.momentum;
  return rule;
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const RmspropConfig& config,
                                          std::vector<ParamGroup> groups) {
  ElementRule rule = rule_of(config, "rmsprop", 0);
  const std::size_t num_scalars = rule.update.num_scalars;
  rule.scalars = [=](const ElementStep& step) {
    std::vector<double> scalars{step.lr, 1,          step.weight_decay, 1 - config.alpha,
                                0,       config.eps, step.momentum,     1};
    scalars.resize(num_scalars);
    return scalars;
  };
  return make_elementwise(std::move(rule), std::move(groups));
}

std::unique_ptr<Optimizer> make_optimizer(const RmspropTfConfig& config,
                                          std::vector<ParamGroup> groups) {
  ElementRule rule = rule_of(config, "rmsprop_tf", 1);
  const std::size_t num_scalars = rule.update.num_scalars;
  rule.scalars = [=](const ElementStep& step) {
    const bool has_lr_in_momentum = config.momentum > 0 && config.lr_in_momentum;
    std::vector<double> scalars{has_lr_in_momentum ? 1 : step.lr,
                                step.kept(config.decoupled_decay),
                                step.added(config.decoupled_decay),
                                1 - config.alpha,
                                config.eps,
                                0,
                                step.momentum,
                                has_lr_in_momentum ? step.lr : 1};
    scalars.resize(num_scalars);
    return scalars;
  };
  return make_elementwise(std::move(rule), std::move(groups));
}

std::unique_ptr<OptimizerPlan> make(const RmspropConfig& config) { return plan_of(config); }
std::unique_ptr<OptimizerPlan> make(const RmspropTfConfig& config) { return plan_of(config); }

}  // namespace paceline::optim
