#include "paceline/optim/radam.h"

#include "paceline/optim/elementwise.h"
#include "paceline/tensor/shared_code.h"

#include <cmath>
#include <utility>

namespace paceline::optim {
namespace {

using std::sqrt;

// One of the two learning rates is 0: that of the mean as it is, or that of the mean over the root.
PACELINE_CODE_AND_TEXT(
    kRAdamCode, template <typename T>
                void radam_element(T grad, T param, T exp_avg, T exp_avg_sq, T decay, T added_decay,
                                   T share1, T share2, T eps, T plain_lr, T rectified_lr,
                                   T& new_param, T& new_exp_avg, T& new_exp_avg_sq) {
                  const T gradient = grad + added_decay * param;
                  new_exp_avg = exp_avg + share1 * (gradient - exp_avg);
                  new_exp_avg_sq = exp_avg_sq + share2 * (gradient * gradient - exp_avg_sq);
                  const T length = plain_lr + rectified_lr / (sqrt(new_exp_avg_sq) + eps);
                  new_param = param * decay - new_exp_avg * length;
                })

constexpr auto kRAdam = tensor::element_update<&radam_element<float>, &radam_element<double>>(
    "radam_element", kRAdamCode);

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const RAdamConfig& config,
                                          std::vector<ParamGroup> groups) {
  const auto scalars = [=](const ElementStep& step) -> std::vector<double> {
    const auto number = static_cast<double>(step.number);
    const double power = std::pow(config.beta2, number);
    const double longest = 2 / (1 - config.beta2) - 1;
    const double length = longest - 2 * number * power / (1 - power);
    const double lr = step.lr / (1 - std::pow(step.momentum, number));
    const bool is_reliable = length > 5;
    const double rectified =
        is_reliable ? lr * std::sqrt((1 - power) * (length - 4) * (length - 2) * longest /
                                     ((longest - 4) * (longest - 2) * length))
                    : 0;
    return {step.kept(config.decoupled_decay),
            step.added(config.decoupled_decay),
            1 - step.momentum,
            1 - config.beta2,
            config.eps,
            is_reliable ? 0 : lr,
            rectified};
  };
  return make_elementwise({"radam", kRAdam, {{"exp_avg"}, {"exp_avg_sq"}}, scalars, config.beta1},
                          std::move(groups));
}

std::unique_ptr<OptimizerPlan> make(const RAdamConfig& config) { return plan_of(config); }

}  // namespace paceline::optim
