#include "paceline/nn/attention/attention_kernel.h"

#include "paceline/base/error.h"
#include "paceline/nn/attention/small_head_attention.h"

#include <ATen/native/transformers/sdp_utils_cpp.h>

namespace paceline::nn {
namespace {

constexpr double kNoDropout = 0.0;
constexpr bool kNotCausal = false;

}  // namespace

AttentionKernel attention_kernel(const at::Tensor& query, const at::Tensor& key,
                                 const at::Tensor& value) {
  if (!query.is_cuda()) return AttentionKernel::kFlash;
  switch (static_cast<sdp::SDPBackend>(at::_fused_sdp_choice(query, key, value))) {
    case sdp::SDPBackend::cudnn_attention:  // a Hopper GPU's choice; flash takes all that it takes
    case sdp::SDPBackend::flash_attention:
      return AttentionKernel::kFlash;
    case sdp::SDPBackend::efficient_attention:
      return AttentionKernel::kEfficient;
    default:
      return AttentionKernel::kNone;
  }
}

KernelAttention kernel_attention(AttentionKernel kernel, const at::Tensor& query,
                                 const at::Tensor& key, const at::Tensor& value) {
  PACELINE_CHECK(kernel != AttentionKernel::kNone, "no kernel was chosen");
  if (kernel == AttentionKernel::kEfficient) {
    auto [mixed, log_sum_exp, seed, offset] = at::_scaled_dot_product_efficient_attention(
        query, key, value, /*attn_bias=*/{}, /*compute_log_sumexp=*/true);
    return {mixed, log_sum_exp, seed, offset};
  }
  if (has_small_head_attention(query, key, value)) {
    auto [mixed, log_sum_exp] = small_head_attention(query, key, value);
    return {mixed, log_sum_exp};
  }
  if (!query.is_cuda()) {
    auto [mixed, log_sum_exp] = at::_scaled_dot_product_flash_attention_for_cpu(query, key, value);
    return {mixed, log_sum_exp};
  }
  const auto found = at::_scaled_dot_product_flash_attention(query, key, value);
  return {std::get<0>(found), std::get<1>(found), std::get<6>(found), std::get<7>(found)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> kernel_attention_backward(
    AttentionKernel kernel, const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key,
    const at::Tensor& value, const KernelAttention& forward) {
  const auto& [mixed, log_sum_exp, seed, offset] = forward;
  if (kernel == AttentionKernel::kEfficient) {
    auto [grad_query, grad_key, grad_value, none] =
        at::_scaled_dot_product_efficient_attention_backward(
            grad, query, key, value, /*attn_bias=*/{}, mixed, log_sum_exp, seed, offset, kNoDropout,
            /*grad_input_mask=*/{true, true, true, false});
    return {grad_query, grad_key, grad_value};
  }
  // LibTorch's, below, says that its gradients have none of their own.
  if (!at::GradMode::is_enabled() && has_small_head_attention(query, key, value))
    return small_head_attention_backward(grad, query, key, value, mixed, log_sum_exp);
  if (!query.is_cuda()) {
    return at::_scaled_dot_product_flash_attention_for_cpu_backward(
        grad, query, key, value, mixed, log_sum_exp, kNoDropout, kNotCausal);
  }
  // Batches of one length each have no table of where their sequences begin.
  const at::Tensor no_table;
  return at::_scaled_dot_product_flash_attention_backward(
      grad, query, key, value, mixed, log_sum_exp, no_table, no_table, query.size(2), key.size(2),
      kNoDropout, kNotCausal, seed, offset);
}

}  // namespace paceline::nn
