#include "paceline/nn/layer_norm.h"

#include <tuple>

namespace paceline::nn {

LayerNorm::LayerNorm(std::int64_t dim, double eps) : eps_(eps) {
  weight = register_parameter("weight", at::ones({dim}));
  bias = register_parameter("bias", at::zeros({dim}));
}

at::Tensor LayerNorm::forward(const at::Tensor& input) const {
  return std::get<0>(at::native_layer_norm(input, weight.sizes(), weight, bias, eps_));
}

at::Tensor LayerNorm::forward_channels(const at::Tensor& input) const {
  return forward(input.permute({0, 2, 3, 1})).permute({0, 3, 1, 2});
}

}  // namespace paceline::nn
