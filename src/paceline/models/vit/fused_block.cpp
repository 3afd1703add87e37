#include "paceline/models/vit/fused_block.h"

#include "paceline/base/error.h"
#include "paceline/nn/attention/attention_kernel.h"
#include "paceline/tensor/autocast.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace paceline::models {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Places in VitBlockWeights; each bias follows its weight.
enum Weight : std::size_t {
  kNorm1 = 0,
  kQkv = 2,
  kQueryNorm = 4,
  kKeyNorm = 6,
  kProj = 8,
  kScale1 = 10,
  kNorm2 = 11,
  kFc1 = 13,
  kFc2 = 15,
  kScale2 = 17,
};

constexpr std::size_t kNumWeights = std::tuple_size_v<VitBlockWeights>;

// Places of what forward keeps for backward, after the weights; undefined where a block has not got
// it. A norm's mean and rstd follow what it normalises.
enum Saved : std::size_t {
  kX = kNumWeights,
  kMean1,
  kRstd1,
  kNormed1,
  kQueries,  // before their norm, if they have one
  kQueryMean,
  kQueryRstd,
  kKeys,
  kKeyMean,
  kKeyRstd,
  kQuery,
  kKey,
  kValue,
  kMixed,
  kLogSumExp,  // of the attention kernel, if one was taken
  kDrawSeed,
  kDrawOffset,
  kAttentionWeights,  // of plain attention, before they drop
  kBranch1,           // before layer scale
  kY,
  kMean2,
  kRstd2,
  kNormed2,
  kHidden,
  kActivated,  // after they drop
  kBranch2,    // before layer scale
  kDropAttention,
  kDropProjected,
  kDropPath1,
  kDropHidden,
  kDropOutput,
  kDropPath2,
  kSavedCount
};

/// Places of what follows the last linear layer of a branch.
struct BranchEnd {
  std::size_t dropout;
  std::size_t scaled;
  std::size_t scale;
  std::size_t path;
};

constexpr BranchEnd kEnd1{kDropProjected, kBranch1, kScale1, kDropPath1};
constexpr BranchEnd kEnd2{kDropOutput, kBranch2, kScale2, kDropPath2};

bool is_there(const at::Tensor& weight) { return weight.numel() > 0; }

/// [batch, heads, tokens, head_dim] to [batch * tokens, dim]; a view where heads are innermost.
at::Tensor merge_heads(const at::Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0) * x.size(2), x.size(1) * x.size(3)});
}

/// The rows of each sample times its factor.
at::Tensor by_sample(const at::Tensor& rows, const at::Tensor& factors) {
  const std::int64_t samples = factors.size(0);
  return (rows.unflatten(0, {samples, -1}) * factors.view({samples, 1, 1})).flatten(0, 1);
}

double attention_scale(const at::Tensor& query) {
  return 1.0 / std::sqrt(static_cast<double>(query.size(3)));
}

// Forward: each step finds what it needs in `kept` and leaves there what backward needs.

at::Tensor linear(const at::Tensor& x, std::size_t place, const variable_list& kept) {
  const at::Tensor weight = kept[place].to(x.scalar_type()).t();
  const at::Tensor& bias = kept[place + 1];
  return is_there(bias) ? at::addmm(bias.to(x.scalar_type()), x, weight) : at::mm(x, weight);
}

at::Tensor normalize(std::size_t input, std::size_t place, double eps, variable_list& kept) {
  at::Tensor normed;
  std::tie(normed, kept[input + 1], kept[input + 2]) =
      at::native_layer_norm(kept[input], kept[place].sizes(), kept[place], kept[place + 1], eps);
  return normed;
}

void split_heads(const at::Tensor& projected, const FusedVitBlockOptions& options,
                 variable_list& kept) {
  const auto& [batch, tokens] = options.shape;
  const std::int64_t head_dim = projected.size(1) / 3 / options.num_heads;
  const at::Tensor qkv =
      projected.view({batch, tokens, 3, options.num_heads, head_dim}).permute({2, 0, 3, 1, 4});
  kept[kQuery] = qkv.select(0, 0);
  kept[kKey] = qkv.select(0, 1);
  kept[kValue] = qkv.select(0, 2);
  if (!is_there(kept[kQueryNorm])) return;
  kept[kQueries] = kept[kQuery];
  kept[kKeys] = kept[kKey];
  kept[kQuery] = normalize(kQueries, kQueryNorm, options.eps, kept);
  kept[kKey] = normalize(kKeys, kKeyNorm, options.eps, kept);
}

/// The attention weights as they mix the values.
at::Tensor dropped_weights(const variable_list& kept) {
  const at::Tensor& weights = kept[kAttentionWeights];
  return kept[kDropAttention].defined() ? weights * kept[kDropAttention] : weights;
}

/// The kernel that computes it; none if the attention weights themselves drop.
nn::AttentionKernel attend(variable_list& kept) {
  const at::Tensor& query = kept[kQuery];
  const nn::AttentionKernel kernel = kept[kDropAttention].defined()
                                         ? nn::AttentionKernel::kNone
                                         : nn::attention_kernel(query, kept[kKey], kept[kValue]);
  if (kernel != nn::AttentionKernel::kNone) {
    nn::KernelAttention found = nn::kernel_attention(kernel, query, kept[kKey], kept[kValue]);
    kept[kMixed] = std::move(found.mixed);
    kept[kLogSumExp] = std::move(found.log_sum_exp);
    kept[kDrawSeed] = std::move(found.draw_seed);
    kept[kDrawOffset] = std::move(found.draw_offset);
    return kernel;
  }
  const at::Tensor scores = at::matmul(query * attention_scale(query), kept[kKey].transpose(2, 3));
  kept[kAttentionWeights] = at::softmax(scores, -1);
  kept[kMixed] = at::matmul(dropped_weights(kept), kept[kValue]);
  return kernel;
}

/// The residual stream with a branch added, which is used up.
at::Tensor add_branch(const at::Tensor& x, at::Tensor branch, const BranchEnd& end,
                      variable_list& kept) {
  if (kept[end.dropout].defined()) branch.mul_(kept[end.dropout]);
  if (is_there(kept[end.scale])) {
    kept[end.scaled] = branch;
    branch = branch * kept[end.scale];
  }
  if (kept[end.path].defined()) branch = by_sample(branch, kept[end.path]);
  return branch.scalar_type() == x.scalar_type() ? branch.add_(x) : x + branch;
}

// Backward: each step leaves the gradients of its weights in `grads`, whose places are those of the
// weights, and returns the gradient of its input.

at::Tensor linear_backward(const at::Tensor& grad, const at::Tensor& input, std::size_t place,
                           const variable_list& kept, at::Tensor* grads) {
  const at::Tensor& weight = kept[place];
  grads[place] = at::mm(grad.t(), input).to(weight.scalar_type());
  if (is_there(kept[place + 1])) grads[place + 1] = grad.sum(0).to(weight.scalar_type());
  return at::mm(grad, weight.to(grad.scalar_type()));
}

at::Tensor norm_backward(const at::Tensor& grad, std::size_t input, std::size_t place,
                         const variable_list& kept, at::Tensor* grads) {
  const at::Tensor& x = kept[input];
  at::Tensor grad_input;
  std::tie(grad_input, grads[place], grads[place + 1]) = at::native_layer_norm_backward(
      grad.to(x.scalar_type()), x, kept[place].sizes(), kept[input + 1], kept[input + 2],
      kept[place], kept[place + 1], {true, true, true});
  return grad_input;
}

/// From the residual stream's gradient to that of the branch's last linear layer.
at::Tensor branch_backward(at::Tensor grad, const BranchEnd& end, at::ScalarType dtype,
                           const variable_list& kept, at::Tensor* grads) {
  const bool is_scaled = is_there(kept[end.scale]);
  if (!is_scaled) grad = grad.to(dtype);
  if (kept[end.path].defined()) grad = by_sample(grad, kept[end.path]);
  if (is_scaled) {
    grads[end.scale] = (grad * kept[end.scaled]).sum(0);
    grad = (grad * kept[end.scale]).to(dtype);
  }
  return kept[end.dropout].defined() ? grad * kept[end.dropout] : grad;
}

/// From the gradient of what attention mixes to those of query, key and value.
std::tuple<at::Tensor, at::Tensor, at::Tensor> mixing_backward(const at::Tensor& grad,
                                                               nn::AttentionKernel kernel,
                                                               const variable_list& kept) {
  const at::Tensor& query = kept[kQuery];
  const at::Tensor& key = kept[kKey];
  const at::Tensor& value = kept[kValue];
  if (kernel != nn::AttentionKernel::kNone) {
    return nn::kernel_attention_backward(
        kernel, grad, query, key, value,
        {kept[kMixed], kept[kLogSumExp], kept[kDrawSeed], kept[kDrawOffset]});
  }
  const at::Tensor& weights = kept[kAttentionWeights];
  const double scale = attention_scale(query);
  const at::Tensor grad_value = at::matmul(dropped_weights(kept).transpose(2, 3), grad);
  const at::Tensor grad_weights = at::matmul(grad, value.transpose(2, 3));
  if (kept[kDropAttention].defined()) grad_weights.mul_(kept[kDropAttention]);
  const at::Tensor grad_scores =
      at::_softmax_backward_data(grad_weights, weights, -1, weights.scalar_type());
  return {at::matmul(grad_scores, key).mul_(scale),
          at::matmul(grad_scores.transpose(2, 3), query * scale), grad_value};
}

/// From the gradient of the merged heads to that of qkv, [rows, 3 * dim].
at::Tensor attention_backward(const at::Tensor& grad, nn::AttentionKernel kernel,
                              const variable_list& kept, at::Tensor* grads) {
  const at::IntArrayRef sizes = kept[kQuery].sizes();
  auto [grad_query, grad_key, grad_value] = mixing_backward(
      grad.view({sizes[0], sizes[2], sizes[1], sizes[3]}).transpose(1, 2), kernel, kept);
  if (is_there(kept[kQueryNorm])) {
    grad_query = norm_backward(grad_query, kQueries, kQueryNorm, kept, grads);
    grad_key = norm_backward(grad_key, kKeys, kKeyNorm, kept, grads);
  }
  return at::stack(
             {grad_query.transpose(1, 2), grad_key.transpose(1, 2), grad_value.transpose(1, 2)}, 2)
      .view({sizes[0] * sizes[2], 3 * sizes[1] * sizes[3]});
}

/// Adds up in place: `sum` is nobody else's, and `other` may have another type.
at::Tensor added(at::Tensor sum, const at::Tensor& other) { return sum.add_(other); }

struct FusedVitBlock : torch::autograd::Function<FusedVitBlock> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, at::TensorList weights,
                            const VitBlockDrops& drops, const FusedVitBlockOptions& options) {
    // Types are written out here.
    const tensor::AutocastGuard no_autocast({x.device().type(), false, options.dtype});
    variable_list kept(weights.begin(), weights.end());
    kept.resize(kSavedCount);
    kept[kX] = x;
    kept[kDropAttention] = drops.attention;
    kept[kDropProjected] = drops.projected;
    kept[kDropPath1] = drops.path1;
    kept[kDropHidden] = drops.hidden;
    kept[kDropOutput] = drops.output;
    kept[kDropPath2] = drops.path2;

    kept[kNormed1] = normalize(kX, kNorm1, options.eps, kept).to(options.dtype);
    split_heads(linear(kept[kNormed1], kQkv, kept), options, kept);
    context->saved_data["kernel"] = static_cast<std::int64_t>(attend(kept));
    kept[kY] = add_branch(x, linear(merge_heads(kept[kMixed]), kProj, kept), kEnd1, kept);

    kept[kNormed2] = normalize(kY, kNorm2, options.eps, kept).to(options.dtype);
    kept[kHidden] = linear(kept[kNormed2], kFc1, kept);
    kept[kActivated] = at::gelu(kept[kHidden]);
    if (drops.hidden.defined()) kept[kActivated].mul_(drops.hidden);
    const at::Tensor output =
        add_branch(kept[kY], linear(kept[kActivated], kFc2, kept), kEnd2, kept);
    context->save_for_backward(std::move(kept));
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    const variable_list kept = context->get_saved_variables();
    PACELINE_CHECK(kept.size() == kSavedCount, "a fused block saved {} tensors", kept.size());
    const at::ScalarType dtype = kept[kNormed1].scalar_type();
    const auto kernel = static_cast<nn::AttentionKernel>(context->saved_data["kernel"].toInt());
    const at::Tensor grad = grad_outputs[0].contiguous();
    // One gradient for x, the weights and, undefined, for each of the two other arguments.
    variable_list all_grads(1 + kNumWeights + 2);
    at::Tensor* grads = &all_grads[1];

    at::Tensor inner = branch_backward(grad, kEnd2, dtype, kept, grads);
    inner = linear_backward(inner, kept[kActivated], kFc2, kept, grads);
    if (kept[kDropHidden].defined()) inner = inner * kept[kDropHidden];
    inner = at::gelu_backward(inner, kept[kHidden]);
    inner = linear_backward(inner, kept[kNormed2], kFc1, kept, grads);
    const at::Tensor grad_y = added(norm_backward(inner, kY, kNorm2, kept, grads), grad);

    inner = branch_backward(grad_y, kEnd1, dtype, kept, grads);
    inner = linear_backward(inner, merge_heads(kept[kMixed]), kProj, kept, grads);
    inner = attention_backward(inner, kernel, kept, grads);
    inner = linear_backward(inner, kept[kNormed1], kQkv, kept, grads);
    all_grads[0] = added(norm_backward(inner, kX, kNorm1, kept, grads), grad_y);
    return all_grads;
  }
};

}  // namespace

std::optional<at::ScalarType> fused_vit_block_dtype(const at::Tensor& x,
                                                    const VitBlockWeights& weights) {
  const at::ScalarType dtype = x.scalar_type();
  if (x.is_meta() || !x.is_floating_point() || !x.is_contiguous()) return std::nullopt;
  const bool are_alike = std::ranges::all_of(weights, [&](const at::Tensor& weight) {
    return !is_there(weight) || (weight.device() == x.device() && weight.scalar_type() == dtype);
  });
  if (!are_alike) return std::nullopt;
  return tensor::AutocastSettings::current(x.device().type()).cast_of(dtype);
}

at::Tensor fused_vit_block(const at::Tensor& x, const VitBlockWeights& weights,
                           const VitBlockDrops& drops, const FusedVitBlockOptions& options) {
  return FusedVitBlock::apply(x, at::TensorList(weights), drops, options);
}

}  // namespace paceline::models
