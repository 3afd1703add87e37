#pragma once

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

  /// [N, channels, ...] to the same shape.
  at::Tensor forward(const at::Tensor& input) const {
    return at::group_norm(input, groups_, weight, bias);
  }

  at::Tensor weight;
  at::Tensor bias;

 private:
  std::int64_t groups_;
};

}  // namespace paceline::nn
