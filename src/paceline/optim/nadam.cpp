#include "paceline/optim/nadam.h"

#include "paceline/optim/elementwise.h"
#include "paceline/tensor/shared_code.h"

#include <cmath>
#include <utility>

namespace paceline::optim {
namespace {

using std::sqrt;

// Both step along gradient and mean, each by its own length.
PACELINE_CODE_AND_TEXT(
    kNAdamCode, template <typename T>
                void nadam_element(T grad, T param, T exp_avg, T exp_avg_sq, T decay, T added_decay,
                                   T share1, T share2, T correction, T eps, T lr_of_grad,
                                   T lr_of_mean, T& new_param, T& new_exp_avg, T& new_exp_avg_sq) {
                  const T gradient = grad + added_decay * param;
                  new_exp_avg = exp_avg + share1 * (gradient - exp_avg);
                  new_exp_avg_sq = exp_avg_sq + share2 * (gradient * gradient - exp_avg_sq);
                  const T root = sqrt(new_exp_avg_sq) * correction + eps;
                  new_param =
                      param * decay - (lr_of_grad * gradient + lr_of_mean * new_exp_avg) / root;
                })

constexpr auto kNAdam = tensor::element_update<&nadam_element<float>, &nadam_element<double>>(
    "nadam_element", kNAdamCode);

/// The product of the momenta of all steps so far, which come one after the other but for a resume.
class MomentumProduct {
 public:
  MomentumProduct(double beta1, double decay) : beta1_(beta1), decay_(decay) {}

  double momentum(std::int64_t step) const {
    return beta1_ * (1 - 0.5 * std::pow(0.96, static_cast<double>(step) * decay_));
  }
  double up_to(std::int64_t step) {
    if (step < num_steps_) *this = MomentumProduct(beta1_, decay_);
    while (num_steps_ < step) product_ *= momentum(++num_steps_);
    return product_;
  }

 private:
  double beta1_, decay_;
  std::int64_t num_steps_ = 0;
  double product_ = 1;
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const NAdamConfig& config,
                                          std::vector<ParamGroup> groups) {
  const auto scalars = [=, momenta = MomentumProduct(config.beta1, config.momentum_decay)](
                           const ElementStep& step) mutable -> std::vector<double> {
    const double momentum = momenta.momentum(step.number);
    const double next = momenta.momentum(step.number + 1);
    const double product = momenta.up_to(step.number);
    const double correction_of_squares =
        1 - std::pow(config.beta2, static_cast<double>(step.number));
    return {step.kept(config.decoupled_decay),
            step.added(config.decoupled_decay),
            1 - config.beta1,
            1 - config.beta2,
            1 / std::sqrt(correction_of_squares),
            config.eps,
            step.lr * (1 - momentum) / (1 - product),
            step.lr * next / (1 - product * next)};
  };
  return make_elementwise({"nadam", kNAdam, {{"exp_avg"}, {"exp_avg_sq"}}, scalars},
                          std::move(groups));
}

std::unique_ptr<Optimizer> make_optimizer(const NAdamWConfig& config,
                                          std::vector<ParamGroup> groups) {
  const auto scalars = [=](const ElementStep& step) -> std::vector<double> {
    const auto number = static_cast<double>(step.number);
    const double length = step.lr / (1 - std::pow(step.momentum, number));
    return {step.kept(/*is_decoupled=*/true),
            step.added(/*is_decoupled=*/true),
            1 - step.momentum,
            1 - config.beta2,
            1 / std::sqrt(1 - std::pow(config.beta2, number)),
            config.eps,
            length * (1 - step.momentum),
            length * step.momentum};
  };
  return make_elementwise({"nadamw", kNAdam, {{"exp_avg"}, {"exp_avg_sq"}}, scalars, config.beta1},
                          std::move(groups));
}

std::unique_ptr<OptimizerPlan> make(const NAdamConfig& config) { return plan_of(config); }
std::unique_ptr<OptimizerPlan> make(const NAdamWConfig& config) { return plan_of(config); }

}  // namespace paceline::optim
