#include "paceline/models/ct_cascade/kept_attention.h"

#include "paceline/nn/attention/attention_kernel.h"

#include <cmath>

namespace paceline::models {
namespace {

double scale_of(const at::Tensor& query) {
  return 1.0 / std::sqrt(static_cast<double>(query.size(3)));
}

}  // namespace

std::int64_t attend(const AttentionInputs& inputs, at::Tensor* kept) {
  const auto& [query, key, value] = inputs;
  const nn::AttentionKernel kernel = nn::attention_kernel(query, key, value);
  if (kernel == nn::AttentionKernel::kNone) {
    kept[1] = at::softmax(at::matmul(query * scale_of(query), key.transpose(2, 3)), -1);
    kept[0] = at::matmul(kept[1], value);
  } else {
    nn::KernelAttention found = nn::kernel_attention(kernel, query, key, value);
    kept[0] = std::move(found.mixed);
    kept[1] = std::move(found.log_sum_exp);
    kept[2] = std::move(found.draw_seed);
    kept[3] = std::move(found.draw_offset);
  }
  return static_cast<std::int64_t>(kernel);
}

std::vector<at::Tensor> attention_backward(const at::Tensor& grad, const AttentionInputs& inputs,
                                           std::int64_t kernel, const at::Tensor* kept) {
  const auto& [query, key, value] = inputs;
  if (const auto known = static_cast<nn::AttentionKernel>(kernel);
      known != nn::AttentionKernel::kNone) {
    auto [of_query, of_key, of_value] = nn::kernel_attention_backward(
        known, grad, query, key, value, {kept[0], kept[1], kept[2], kept[3]});
    return {of_query, of_key, of_value};
  }
  const at::Tensor& weights = kept[1];
  const at::Tensor of_scores = at::_softmax_backward_data(at::matmul(grad, value.transpose(2, 3)),
                                                          weights, -1, weights.scalar_type());
  const double scale = scale_of(query);
  return {at::matmul(of_scores, key).mul_(scale),
          at::matmul(of_scores.transpose(2, 3), query * scale),
          at::matmul(weights.transpose(2, 3), grad)};
}

}  // namespace paceline::models
