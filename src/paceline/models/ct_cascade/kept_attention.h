#pragma once

#include "paceline/tensor/aten.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace paceline::models {

// Attention inside an autograd node that keeps by itself what backward needs.

/// Query, key and value, [batch, heads, tokens, head_dim] each.
using AttentionInputs = std::array<at::Tensor, 3>;

/// How many tensors attend() leaves: what is mixed, then what backward needs besides the inputs.
inline constexpr std::size_t kNumKeptOfAttention = 4;

/// Leaves attention's result and what else it keeps at `kept`; gives which nn::AttentionKernel
/// computed it, kNone if none of them takes these tensors.
std::int64_t attend(const AttentionInputs& inputs, at::Tensor* kept);

/// From the gradient of kept[0] to those of query, key and value.
std::vector<at::Tensor> attention_backward(const at::Tensor& grad, const AttentionInputs& inputs,
                                           std::int64_t kernel, const at::Tensor* kept);

}  // namespace paceline::models
