#include "paceline/models/vit/vit_init.h"

#include "paceline/nn/init.h"

#include <cmath>

namespace paceline::models {
namespace {

bool is_jax(VitInit init) { return init == VitInit::kJax || init == VitInit::kJaxNlhb; }

bool is_of_head(const std::string& name) { return name.starts_with("head"); }

void initialize_patch_embedding(VitInit init, const at::Tensor& patch_weight,
                                const nn::NamedTensor& parameter, const tensor::DrawKey& key) {
  const bool is_weight = parameter.name.ends_with(".weight");
  if (is_jax(init)) {
    if (is_weight) return nn::lecun_normal(parameter.tensor, key);
    return nn::constant(parameter.tensor, 0.0);
  }
  if (is_weight) return nn::default_weight(parameter.tensor, key);
  nn::default_bias(parameter.tensor, patch_weight, key);
}

/// The weight of a linear layer.
void initialize_matrix(VitInit init, const nn::NamedTensor& parameter, const tensor::DrawKey& key) {
  const at::Tensor& weight = parameter.tensor;
  if (init == VitInit::kTimm) return nn::truncated_normal(weight, 0.02, key);
  if (is_jax(init) && is_of_head(parameter.name)) return nn::constant(weight, 0.0);
  if (init == VitInit::kMoco && parameter.name.ends_with(".qkv.weight")) {
    const auto fans = static_cast<double>(weight.size(0) / 3 + weight.size(1));
    return tensor::fill_uniform(weight, -std::sqrt(6.0 / fans), std::sqrt(6.0 / fans), key);
  }
  nn::xavier_uniform(weight, key);
}

void initialize_bias(const VitConfig& config, const nn::NamedTensor& parameter,
                     const tensor::DrawKey& key) {
  if (config.weight_init == VitInit::kJaxNlhb && is_of_head(parameter.name))
    return nn::constant(parameter.tensor, -std::log(static_cast<double>(config.num_classes)));
  if (is_jax(config.weight_init) && parameter.name.find(".mlp.") != std::string::npos)
    return tensor::fill_normal(parameter.tensor, 0.0, 1e-6, key);
  nn::constant(parameter.tensor, 0.0);
}

}  // namespace

void initialize_vit_parameter(const VitConfig& config, const at::Tensor& patch_weight,
                              const nn::NamedTensor& parameter, const tensor::DrawKey& key) {
  const std::string& name = parameter.name;
  const at::Tensor& tensor = parameter.tensor;
  if (name == "cls_token" || name == "reg_token") {
    tensor::fill_normal(tensor, 0.0, 1e-6, key);
  } else if (name == "pos_embed" || name == "dist_token") {
    nn::truncated_normal(tensor, 0.02, key);
  } else if (name.starts_with("patch_embed.")) {
    initialize_patch_embedding(config.weight_init, patch_weight, parameter, key);
  } else if (name.ends_with(".gamma")) {
    nn::constant(tensor, config.init_values.value());
  } else if (tensor.dim() == 2) {
    initialize_matrix(config.weight_init, parameter, key);
  } else if (name.ends_with(".bias")) {
    initialize_bias(config, parameter, key);
  } else {
    nn::constant(tensor, 1.0);
  }
}

}  // namespace paceline::models
