#pragma once

#include "paceline/models/convnext/convnext_block.h"

#include <optional>

namespace paceline::models {

/// The type in which fused_convnext_block's matrix products compute what the block's separate
/// operations would: autocast's, or that of the weights. Nothing unless input and weights lie on
/// one device, with memory there and one floating type (under autocast the input may have
/// autocast's), the input channels-last.
std::optional<at::ScalarType> fused_convnext_block_dtype(const at::Tensor& input,
                                                         const ConvNextBlockWeights& weights);

struct FusedConvNextOptions {
  at::Tensor path;  ///< what the samples' branches are multiplied by, [N, 1]; undefined: by nothing
  double eps = 0.0;                   ///< of the LayerNorm
  at::ScalarType dtype = at::kFloat;  ///< fused_convnext_block_dtype()
};

/// A whole ConvNeXt block as one autograd node: what ConvNextBlock's operations compute, with fewer
/// passes over what is large, and their derivatives by hand. In float32 and float64 layer scale is
/// applied to the last layer's weights instead of its results. The gradients reach the weights as
/// usual. Input and result: [N, dim, H, W], channels-last.
at::Tensor fused_convnext_block(const at::Tensor& input, const ConvNextBlockWeights& weights,
                                const FusedConvNextOptions& options);

}  // namespace paceline::models
