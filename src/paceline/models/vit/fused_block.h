#pragma once

#include "paceline/models/vit/vit_block.h"

#include <cstdint>

namespace paceline::models {

/// Whether fused_vit_block computes what the block's separate operations would: CPU, float32 or
/// float64 throughout, contiguous rows, no autocast.
bool can_fuse_vit_block(const at::Tensor& x, const VitBlockWeights& weights);

/// A whole ViT block without dropout as one autograd node: the same operations as VitBlock's,
/// called without recording each, and their derivatives by hand. The gradients reach the weights as
/// usual. x and the result: [batch * tokens, dim].
at::Tensor fused_vit_block(const at::Tensor& x, const VitBlockWeights& weights,
                           const TokenShape& shape, std::int64_t num_heads, double eps);

}  // namespace paceline::models
