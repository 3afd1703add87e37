#pragma once

#include "paceline/tensor/autocast.h"
#include "paceline/tensor/torch.h"

#include <cstdint>

namespace paceline::nn {

/// Group normalisation, torch.nn.GroupNorm's names, eps 1e-5; weight 1, bias 0 at first. Paper: Wu
/// and He, "Group normalization", 2018.
class GroupNorm : public torch::nn::Module {
 public:
  /// `groups` divides `channels`.
  GroupNorm(std::int64_t groups, std::int64_t channels) : groups_(groups) {
    weight = register_parameter("weight", at::ones({channels}));
    bias = register_parameter("bias", at::zeros({channels}));
  }

  /// [N, channels, ...] to the same shape, in the input's type: kernels sum in float32 whatever it
  /// is, so autocast, which a GPU's would widen input and result for, is off.
  at::Tensor forward(const at::Tensor& input) const {
    const at::ScalarType dtype = input.scalar_type();
    const tensor::AutocastGuard no_autocast({input.device().type(), false, dtype});
    return at::group_norm(input, groups_, weight.to(dtype), bias.to(dtype));
  }

  at::Tensor weight;
  at::Tensor bias;

 private:
  std::int64_t groups_;
};

}  // namespace paceline::nn
