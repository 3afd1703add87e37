#pragma once

#include "paceline/tensor/torch.h"

namespace paceline::nn {

// The operations that cost the most. Under an activation checkpoint that keeps their results, the
// first run computes them and the recomputation goes on from what it found; elsewhere they are
// LibTorch's. The numbers and gradients are the same bits either way, also under autocast. The
// results must not be changed in place. Of linear() the results for matrices are kept, of
// attention() those of the CPU's kernels.

/// at::linear: [..., in] to [..., out].
at::Tensor linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias);

/// at::conv2d without dilation; an undefined bias is none. The gradient of the weight is
/// weight_gradient() where there is that (nn/pixels/weight_gradient.h).
at::Tensor conv2d(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                  std::int64_t stride, std::int64_t padding, std::int64_t groups = 1);

/// at::scaled_dot_product_attention without mask and dropout: [batch, heads, tokens, head_dim]
/// each. By small_head_attention() where there is that (nn/attention/small_head_attention.h).
at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value);

}  // namespace paceline::nn
