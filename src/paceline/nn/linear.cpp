#include "paceline/nn/linear.h"

#include "paceline/base/error.h"
#include "paceline/nn/factors/factors.h"

#include <array>
#include <string>

namespace paceline::nn {

Linear::Linear(std::int64_t in_features, std::int64_t out_features, bool has_bias) {
  weight = register_parameter("weight", at::empty({out_features, in_features}));
  if (has_bias) bias = register_parameter("bias", at::empty({out_features}));
}

void Linear::factorize(std::int64_t latent) {
  PACELINE_CHECK(!to_latent_, "a linear layer that is two already");
  to_latent_ = register_module(std::string(kToLatent), split_weight(weight, latent));
  parameters_["weight"] = weight;
}

double Linear::flops() const { return own_flops() + (to_latent_ ? to_latent_->flops() : 0); }

void Linear::count(LayerCosts& costs) const {
  if (to_latent_) to_latent_->count(costs);
  costs.add(*this, own_flops(), {weight.size(0)});
}

void Linear::count(std::int64_t rows, LayerCosts& costs) const {
  if (to_latent_) to_latent_->count(rows, costs);
  costs.add(*this, static_cast<double>(rows) * own_flops(), {rows, weight.size(0)});
}

std::shared_ptr<Linear> split_weight(at::Tensor& weight, std::int64_t latent) {
  auto to_latent = std::make_shared<Linear>(weight.size(1), latent, /*has_bias=*/false);
  at::Tensor& first = to_latent->weight;
  first.set_data(parameter_beside(weight, first.sizes()));
  first.set_requires_grad(weight.requires_grad());
  weight = parameter_beside(weight, std::array{weight.size(0), latent});
  return to_latent;
}

}  // namespace paceline::nn
