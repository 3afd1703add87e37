#include "paceline/nn/blocks/head.h"

#include "paceline/base/error.h"
#include "paceline/nn/factors/factors.h"
#include "paceline/nn/init.h"

namespace paceline::nn {

Head::Head(std::int64_t features, std::int64_t num_classes, HeadKind kind, bool has_bias)
    : kind_(kind) {
  if (kind == HeadKind::kLinear) {
    weight_ = register_parameter("weight", at::empty({num_classes, features}));
    if (has_bias) bias_ = register_parameter("bias", at::empty({num_classes}));
  } else if (kind == HeadKind::kMlp) {
    fc1_ = register_module("fc1", std::make_shared<Linear>(features, features, has_bias));
    fc2_ = register_module("fc2", std::make_shared<Linear>(features, num_classes, has_bias));
  }
}

at::Tensor Head::forward(const at::Tensor& features) const {
  switch (kind_) {
    case HeadKind::kLinear:
      return linear(to_latent_ ? to_latent_->forward(features) : features, weight_, bias_);
    case HeadKind::kMlp:
      return fc2_->forward(at::gelu(fc1_->forward(features)));
    case HeadKind::kNone:
      break;
  }
  return features;
}

void Head::factorize(std::int64_t latent) {
  PACELINE_CHECK(kind_ == HeadKind::kLinear && !to_latent_, "a head that cannot be two layers");
  to_latent_ = register_module(std::string(kToLatent), split_weight(weight_, latent));
  parameters_["weight"] = weight_;
}

void Head::count(LayerCosts& costs) const {
  if (kind_ == HeadKind::kLinear) {
    if (to_latent_) to_latent_->count(costs);
    costs.add(*this, 2.0 * static_cast<double>(weight_.numel()), {weight_.size(0)});
  } else if (kind_ == HeadKind::kMlp) {
    fc1_->count(costs);
    fc2_->count(costs);
  }
}

bool Head::initialize_mlp(const std::string& name, const NamedTensor& parameter,
                          const tensor::DrawKey& key) const {
  if (kind_ != HeadKind::kMlp || !parameter.name.starts_with(name + ".")) return false;
  const bool is_first = parameter.name.starts_with(name + ".fc1.");
  if (parameter.name.ends_with(".weight")) {
    default_weight(parameter.tensor, key);
  } else {
    default_bias(parameter.tensor, (is_first ? fc1_ : fc2_)->weight, key);
  }
  return true;
}

}  // namespace paceline::nn
