#pragma once

#include "paceline/tensor/aten.h"

#include <tuple>

namespace paceline::nn {

/// Whether small_head_attention() takes these: float32 on the CPU, with a head_dim for which it is
/// faster than LibTorch's kernel.
bool has_small_head_attention(const at::Tensor& query, const at::Tensor& key,
                              const at::Tensor& value);

/// Attention without mask and dropout, scaled by 1 / sqrt(head_dim), in vector code that neither
/// keeps the weights nor hands products of few columns to a matrix library. Query, key and value:
/// [batch, heads, tokens, head_dim] each, of any strides; keys may be another number than queries.
/// Gives what is mixed, in memory [batch, tokens, heads, head_dim], and the log of the sum of the
/// exponentials of each query's scores, [batch, heads, tokens]. The same bits for any number of
/// threads. Not recorded by autograd.
std::tuple<at::Tensor, at::Tensor> small_head_attention(const at::Tensor& query,
                                                        const at::Tensor& key,
                                                        const at::Tensor& value);

/// From the gradient of `mixed` to those of query, key and value, in memory as `mixed`.
std::tuple<at::Tensor, at::Tensor, at::Tensor> small_head_attention_backward(
    const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& mixed, const at::Tensor& log_sum_exp);

}  // namespace paceline::nn
