#pragma once

#include "paceline/tensor/torch.h"

#include <cstdint>

namespace paceline::nn {

/// Layer normalisation over the last dimension, torch.nn.LayerNorm's names; weight 1, bias 0 at
/// first. Paper: Ba et al., "Layer normalization", 2016.
class LayerNorm : public torch::nn::Module {
 public:
  LayerNorm(std::int64_t dim, double eps);

  /// [..., dim] to the same shape.
  at::Tensor forward(const at::Tensor& input) const;
  /// [N, dim, H, W] to the same shape, over the channels of each pixel. What it returns lies
  /// channels-last; input that does, too, is not copied.
  at::Tensor forward_channels(const at::Tensor& input) const;

  double eps() const { return eps_; }

  at::Tensor weight;
  at::Tensor bias;

 private:
  double eps_;
};

}  // namespace paceline::nn
