#pragma once

#include "paceline/tensor/aten.h"

#include <tuple>

namespace paceline::nn {

/// Which of LibTorch's kernels computes attention without keeping the weights of all tokens.
enum class AttentionKernel {
  kNone,       ///< none takes these tensors
  kFlash,      ///< Dao et al., 2022; on the CPU small_head_attention() or LibTorch's own
  kEfficient,  ///< Rabe and Staats, 2021; on CUDA, in float32 too and on all GPUs
};

/// What a kernel's forward pass leaves for its backward pass.
struct KernelAttention {
  at::Tensor mixed;             ///< the result, [batch, heads, tokens, head_dim]
  at::Tensor log_sum_exp;       ///< of the scores of each query
  at::Tensor draw_seed = {};    ///< CUDA's alone, though nothing is drawn
  at::Tensor draw_offset = {};  ///< as above
};

/// The kernel that at::scaled_dot_product_attention would take on a GPU; flash on the CPU, which
/// has no other. Query, key and value: [batch, heads, tokens, head_dim], of one type.
AttentionKernel attention_kernel(const at::Tensor& query, const at::Tensor& key,
                                 const at::Tensor& value);

/// Attention without mask and dropout, scaled by 1 / sqrt(head_dim); not for kNone.
KernelAttention kernel_attention(AttentionKernel kernel, const at::Tensor& query,
                                 const at::Tensor& key, const at::Tensor& value);

/// From the gradient of `forward.mixed` to those of query, key and value.
std::tuple<at::Tensor, at::Tensor, at::Tensor> kernel_attention_backward(
    AttentionKernel kernel, const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key,
    const at::Tensor& value, const KernelAttention& forward);

}  // namespace paceline::nn
