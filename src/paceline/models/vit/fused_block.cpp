#include "paceline/models/vit/fused_block.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <tuple>

#include <ATen/autocast_mode.h>

namespace paceline::models {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Places in VitBlockWeights; each bias follows its weight.
enum Weight : std::size_t { kNorm1 = 0, kQkv = 2, kProj = 4, kNorm2 = 6, kFc1 = 8, kFc2 = 10 };

constexpr std::size_t kNumWeights = std::tuple_size_v<VitBlockWeights>;

// Places of what forward keeps for backward, after the weights.
enum Saved : std::size_t {
  kX = kNumWeights,
  kMean1,
  kRstd1,
  kNormed1,
  kQuery,
  kKey,
  kValue,
  kMixed,
  kLogSumExp,
  kY,
  kMean2,
  kRstd2,
  kNormed2,
  kHidden,
  kActivated,
  kSavedCount
};

at::Tensor linear(const at::Tensor& x, at::TensorList weights, std::size_t place) {
  return at::addmm(weights[place + 1], x, weights[place].t());
}

/// [batch, heads, tokens, head_dim] to [batch * tokens, dim]; a view where heads are innermost.
at::Tensor merge_heads(const at::Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0) * x.size(2), x.size(1) * x.size(3)});
}

/// The gradients of one linear layer, put in their places; returns that of its input.
at::Tensor linear_backward(const at::Tensor& grad, const at::Tensor& input, std::size_t place,
                           const variable_list& saved, at::Tensor* weight_grads) {
  weight_grads[place] = at::mm(grad.t(), input);
  weight_grads[place + 1] = grad.sum(0);
  return at::mm(grad, saved[place]);
}

at::Tensor norm_backward(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& mean,
                         const at::Tensor& rstd, std::size_t place, const variable_list& saved,
                         at::Tensor* weight_grads) {
  at::Tensor grad_input;
  std::tie(grad_input, weight_grads[place], weight_grads[place + 1]) =
      at::native_layer_norm_backward(grad, input, saved[place].sizes(), mean, rstd, saved[place],
                                     saved[place + 1], {true, true, true});
  return grad_input;
}

/// Backward of attention from the gradient of its merged output to that of qkv [rows, 3 * dim].
at::Tensor attention_backward(const at::Tensor& grad, const variable_list& saved) {
  const at::Tensor& query = saved[kQuery];
  const std::int64_t batch = query.size(0);
  const std::int64_t heads = query.size(1);
  const std::int64_t tokens = query.size(2);
  const std::int64_t head_dim = query.size(3);
  const auto [grad_query, grad_key, grad_value] =
      at::_scaled_dot_product_flash_attention_for_cpu_backward(
          grad.view({batch, tokens, heads, head_dim}).transpose(1, 2), query, saved[kKey],
          saved[kValue], saved[kMixed], saved[kLogSumExp], /*dropout_p=*/0.0, /*is_causal=*/false);
  return at::stack(
             {grad_query.transpose(1, 2), grad_key.transpose(1, 2), grad_value.transpose(1, 2)}, 2)
      .view({batch * tokens, 3 * heads * head_dim});
}

struct FusedVitBlock : torch::autograd::Function<FusedVitBlock> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, at::TensorList weights,
                            const TokenShape& shape, std::int64_t num_heads, double eps) {
    const std::int64_t dim = x.size(1);
    const auto [normed1, mean1, rstd1] =
        at::native_layer_norm(x, {dim}, weights[kNorm1], weights[kNorm1 + 1], eps);
    const at::Tensor qkv = linear(normed1, weights, kQkv)
                               .view({shape.batch, shape.tokens, 3, num_heads, dim / num_heads})
                               .permute({2, 0, 3, 1, 4});
    const at::Tensor query = qkv.select(0, 0);
    const at::Tensor key = qkv.select(0, 1);
    const at::Tensor value = qkv.select(0, 2);
    const auto [mixed, log_sum_exp] =
        at::_scaled_dot_product_flash_attention_for_cpu(query, key, value);
    const at::Tensor y = linear(merge_heads(mixed), weights, kProj).add_(x);

    const auto [normed2, mean2, rstd2] =
        at::native_layer_norm(y, {dim}, weights[kNorm2], weights[kNorm2 + 1], eps);
    const at::Tensor hidden = linear(normed2, weights, kFc1);
    const at::Tensor activated = at::gelu(hidden);
    const at::Tensor output = linear(activated, weights, kFc2).add_(y);

    variable_list saved(weights.begin(), weights.end());
    saved.insert(saved.end(), {x, mean1, rstd1, normed1, query, key, value, mixed, log_sum_exp, y,
                               mean2, rstd2, normed2, hidden, activated});
    context->save_for_backward(std::move(saved));
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    const variable_list saved = context->get_saved_variables();
    PACELINE_CHECK(saved.size() == kSavedCount, "a fused block saved {} tensors", saved.size());
    const at::Tensor grad = grad_outputs[0].contiguous();
    // One gradient for x, the weights and, undefined, for each of the three other arguments.
    variable_list grads(1 + kNumWeights + 3);
    at::Tensor* weight_grads = &grads[1];

    const at::Tensor grad_activated =
        linear_backward(grad, saved[kActivated], kFc2, saved, weight_grads);
    const at::Tensor grad_hidden = at::gelu_backward(grad_activated, saved[kHidden]);
    const at::Tensor grad_normed2 =
        linear_backward(grad_hidden, saved[kNormed2], kFc1, saved, weight_grads);
    const at::Tensor grad_y = norm_backward(grad_normed2, saved[kY], saved[kMean2], saved[kRstd2],
                                            kNorm2, saved, weight_grads)
                                  .add_(grad);

    const at::Tensor grad_mixed =
        linear_backward(grad_y, merge_heads(saved[kMixed]), kProj, saved, weight_grads);
    const at::Tensor grad_qkv = attention_backward(grad_mixed, saved);
    const at::Tensor grad_normed1 =
        linear_backward(grad_qkv, saved[kNormed1], kQkv, saved, weight_grads);
    grads[0] = norm_backward(grad_normed1, saved[kX], saved[kMean1], saved[kRstd1], kNorm1, saved,
                             weight_grads)
                   .add_(grad_y);
    return grads;
  }
};

}  // namespace

bool can_fuse_vit_block(const at::Tensor& x, const VitBlockWeights& weights) {
  const at::ScalarType dtype = x.scalar_type();
  if (!x.is_cpu() || (dtype != at::kFloat && dtype != at::kDouble)) return false;
  if (!x.is_contiguous() || at::autocast::is_autocast_enabled(at::kCPU)) return false;
  return std::ranges::all_of(weights, [dtype](const at::Tensor& weight) {
    return weight.is_cpu() && weight.scalar_type() == dtype;
  });
}

at::Tensor fused_vit_block(const at::Tensor& x, const VitBlockWeights& weights,
                           const TokenShape& shape, std::int64_t num_heads, double eps) {
  return FusedVitBlock::apply(x, at::TensorList(weights), shape, num_heads, eps);
}

}  // namespace paceline::models
