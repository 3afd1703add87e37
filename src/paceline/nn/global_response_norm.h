#pragma once

#include "paceline/tensor/torch.h"

#include <cstdint>

namespace paceline::nn {

inline constexpr double kResponseNormEps = 1e-6;  ///< timm's

/// Scales each channel of an image by its norm over the image relative to the mean of all channels'
/// norms, timm's names `weight` and `bias` [dim]. Both start at 0, where it is the identity.
/// Paper: Woo et al., "ConvNeXt V2", 2023.
class GlobalResponseNorm : public torch::nn::Module {
 public:
  explicit GlobalResponseNorm(std::int64_t dim, double eps = kResponseNormEps);

  /// [N, pixels, dim] to the same shape.
  at::Tensor forward(const at::Tensor& input) const;

  at::Tensor weight;
  at::Tensor bias;

 private:
  double eps_;
};

}  // namespace paceline::nn
