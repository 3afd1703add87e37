#pragma once

#include "paceline/models/vit/vit_block.h"

#include <cstdint>
#include <optional>

namespace paceline::models {

/// The type in which fused_vit_block's matrix products compute what the block's separate operations
/// would: autocast's, or that of the tokens. Nothing unless tokens and weights lie with memory on
/// one device with one floating type, the tokens' rows contiguous.
std::optional<at::ScalarType> fused_vit_block_dtype(const at::Tensor& x,
                                                    const VitBlockWeights& weights);

/// How a block is computed, besides its weights and what it drops.
struct FusedVitBlockOptions {
  TokenShape shape;
  std::int64_t num_heads = 0;
  double eps = 0.0;                   ///< of the norms
  at::ScalarType dtype = at::kFloat;  ///< fused_vit_block_dtype()
};

/// A whole ViT block as one autograd node: the same operations as VitBlock's, called without
/// recording each, and their derivatives by hand. The gradients reach the weights as usual. x and
/// the result: [batch * tokens, dim]. What autocast would cast is cast again in backward instead of
/// being kept.
at::Tensor fused_vit_block(const at::Tensor& x, const VitBlockWeights& weights,
                           const VitBlockDrops& drops, const FusedVitBlockOptions& options);

}  // namespace paceline::models
