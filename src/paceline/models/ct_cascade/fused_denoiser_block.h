#pragma once

#include "paceline/models/ct_cascade/denoiser_block.h"

#include <cstdint>
#include <optional>

namespace paceline::models {

/// What a block is given besides its weights.
struct DenoiserInputs {
  at::Tensor x;            ///< [batch * tokens, dim]
  at::Tensor condition;    ///< [batch, dim]
  at::Tensor keys_values;  ///< [batch * xray_tokens, 2 * dim]
};

/// The type in which fused_denoiser_block's matrix products compute what the block's separate
/// operations would: autocast's, or that of the tokens. Nothing unless all lies with memory on one
/// device and weights and tokens have one floating type, the condition and the keys and values
/// that or autocast's, the rows contiguous.
std::optional<at::ScalarType> fused_denoiser_block_dtype(const DenoiserInputs& inputs,
                                                         const DenoiserWeights& weights);

/// How a block is computed.
struct FusedDenoiserOptions {
  DenoiserShape shape;
  std::int64_t num_heads = 0;
  double eps = 0.0;                   ///< of the norms
  at::ScalarType dtype = at::kFloat;  ///< fused_denoiser_block_dtype()
};

/// A whole DenoiserBlock as one autograd node: the same operations, called without recording each,
/// and their derivatives by hand. What is as quickly made again is not kept: normed tokens. What
/// autocast would cast is cast again in backward.
at::Tensor fused_denoiser_block(const DenoiserInputs& inputs, const DenoiserWeights& weights,
                                const FusedDenoiserOptions& options);

}  // namespace paceline::models
