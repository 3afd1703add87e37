#include "paceline/optim/lion.h"

#include "paceline/optim/elementwise.h"
#include "paceline/tensor/shared_code.h"

#include <utility>

namespace paceline::optim {
namespace {

PACELINE_CODE_AND_TEXT(
    kLionCode,
    template <typename T> void lion_element(T grad, T param, T exp_avg, T lr, T decay, T share1,
                                            T share2, T& new_param, T& new_exp_avg) {
      const T direction = exp_avg + share1 * (grad - exp_avg);
      const T sign = static_cast<T>(direction > 0) - static_cast<T>(direction < 0);
      new_param = param * decay - lr * sign;
      new_exp_avg = exp_avg + share2 * (grad - exp_avg);
    })

constexpr auto kLion =
    tensor::element_update<&lion_element<float>, &lion_element<double>>("lion_element", kLionCode);

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const LionConfig& config,
                                          std::vector<ParamGroup> groups) {
  return make_elementwise(
      {"lion",
       kLion,
       {{"exp_avg"}},
       [=](const ElementStep& step) -> std::vector<double> {
         return {step.lr, step.kept(/*is_decoupled=*/true), 1 - step.momentum, 1 - config.beta2};
       },
       config.beta1},
      std::move(groups));
}

std::unique_ptr<OptimizerPlan> make(const LionConfig& config) { return plan_of(config); }

}  // namespace paceline::optim
