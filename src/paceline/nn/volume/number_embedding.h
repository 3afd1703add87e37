#pragma once

#include "paceline/nn/linear.h"

#include <cstdint>
#include <memory>

namespace paceline::nn {

/// Numbers, such as the step of a diffusion, to vectors: cosines and sines of 128 frequencies from
/// 1 down to 1/10,000, a linear layer, SiLU and another one. Names: fc1, fc2. Source: Peebles and
/// Xie, "Scalable diffusion models with transformers", 2023.
class NumberEmbedding : public torch::nn::Module {
 public:
  explicit NumberEmbedding(std::int64_t dim);

  /// [N] of any type to [N, dim], the waves in float64 and the layers in `dtype`, or what autocast
  /// says.
  at::Tensor forward(const at::Tensor& numbers, at::ScalarType dtype) const;
  void count(LayerCosts& costs) const;

 private:
  std::shared_ptr<Linear> fc1_;
  std::shared_ptr<Linear> fc2_;
};

}  // namespace paceline::nn
