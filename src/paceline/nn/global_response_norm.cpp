#include "paceline/nn/global_response_norm.h"

namespace paceline::nn {

GlobalResponseNorm::GlobalResponseNorm(std::int64_t dim, double eps) : eps_(eps) {
  weight = register_parameter("weight", at::zeros({dim}));
  bias = register_parameter("bias", at::zeros({dim}));
}

at::Tensor GlobalResponseNorm::forward(const at::Tensor& input) const {
  const at::Tensor norm = at::linalg_vector_norm(input, 2, {1}, /*keepdim=*/true);
  const at::Tensor response = norm / (norm.mean(-1, /*keepdim=*/true) + eps_);
  // The input besides, x + (bias + weight x response), in one pass over the large tensor.
  return at::addcmul(bias, input, weight * response + 1.0);
}

}  // namespace paceline::nn
