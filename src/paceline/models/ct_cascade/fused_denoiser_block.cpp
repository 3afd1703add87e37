#include "paceline/models/ct_cascade/fused_denoiser_block.h"

#include "paceline/base/error.h"
#include "paceline/models/ct_cascade/kept_attention.h"
#include "paceline/models/ct_cascade/modulation.h"
#include "paceline/tensor/autocast.h"

#include <algorithm>
#include <tuple>

namespace paceline::models {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Places in DenoiserWeights; each bias follows its weight.
enum DenoiserWeight : std::size_t {
  kModulationWeight = 0,
  kQkvWeight = 2,
  kProjWeight = 3,
  kQueryWeight = 5,
  kCrossProjWeight = 6,
  kFc1Weight = 8,
  kFc2Weight = 10,
};

constexpr std::size_t kNumDenoiserWeights = std::tuple_size_v<DenoiserWeights>;

constexpr std::size_t kNumBranches = 3;
constexpr std::size_t kNumInBranch = 5;

// Places of what forward keeps for backward, after the weights. Of each branch: what comes in, the
// mean and rstd of its rows, the modulated rows and what is gated.
enum DenoiserSaved : std::size_t {
  kCondition = kNumDenoiserWeights,
  kKeysValues,
  kModulations,  // [batch, 9 * dim]
  kBranches,
  kSelfQkv = kBranches + kNumBranches * kNumInBranch,
  kSelfMixed,  // and what else its attention keeps
  kCrossQuery = kSelfMixed + kNumKeptOfAttention,
  kCrossMixed,
  kMlpHidden = kCrossMixed + kNumKeptOfAttention,
  kMlpActivated,
  kDenoiserSavedCount
};

enum Branch : std::size_t { kSelf, kCross, kMlp };
enum InBranch : std::size_t { kInput, kMean, kRstd, kModulated, kGated };

std::size_t place(Branch branch, InBranch what) {
  return kBranches + static_cast<std::size_t>(branch) * kNumInBranch + what;
}

/// 0: shift, 1: scale, 2: gate of a branch, [batch, dim].
at::Tensor modulation(const variable_list& kept, Branch branch, std::int64_t which) {
  const at::Tensor& all = kept[kModulations];
  const std::int64_t dim = all.size(1) / 9;
  return all.narrow(1, (3 * static_cast<std::int64_t>(branch) + which) * dim, dim);
}

at::Tensor sum_by_sample(const at::Tensor& rows, std::int64_t batch) {
  return rows.unflatten(0, {batch, -1}).sum(1);
}

at::Tensor product(const at::Tensor& x, std::size_t weight, const variable_list& kept) {
  return at::mm(x, kept[weight].to(x.scalar_type()).t());
}

at::Tensor affine(const at::Tensor& x, std::size_t weight, const variable_list& kept) {
  return at::addmm(kept[weight + 1].to(x.scalar_type()), x, kept[weight].to(x.scalar_type()).t());
}

/// The rows as the branch's layers see them.
const at::Tensor& enter(const at::Tensor& x, Branch branch, const FusedDenoiserOptions& options,
                        variable_list& kept) {
  kept[place(branch, kInput)] = x;
  at::Tensor normed;
  std::tie(normed, kept[place(branch, kMean)], kept[place(branch, kRstd)]) =
      at::native_layer_norm(x, x.sizes().slice(1), {}, {}, options.eps);
  const at::Tensor scale = (modulation(kept, branch, 1) + 1).unsqueeze(1);
  const at::Tensor shift = modulation(kept, branch, 0).unsqueeze(1);
  const at::Tensor by_sample = normed.unflatten(0, {options.shape.batch, -1});
  kept[place(branch, kModulated)] = (by_sample * scale + shift).flatten(0, 1).to(options.dtype);
  return kept[place(branch, kModulated)];
}

at::Tensor leave(at::Tensor branch_end, Branch branch, variable_list& kept) {
  kept[place(branch, kGated)] = std::move(branch_end);
  return kept[place(branch, kInput)] +
         scaled_by_sample(kept[place(branch, kGated)], modulation(kept, branch, 2));
}

/// Of rows [batch * tokens, count * dim], each [batch, heads, tokens, head_dim].
std::vector<at::Tensor> split_into_heads(const at::Tensor& rows, std::int64_t count,
                                         std::int64_t batch, std::int64_t num_heads) {
  return rows.view({batch, -1, count, num_heads, rows.size(1) / count / num_heads})
      .permute({2, 0, 3, 1, 4})
      .unbind(0);
}

at::Tensor join_heads(const at::Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0) * x.size(2), x.size(1) * x.size(3)});
}

/// The way back of split_into_heads().
at::Tensor join_parts(std::vector<at::Tensor> parts) {
  for (at::Tensor& part : parts) part = part.transpose(1, 2);
  const at::IntArrayRef sizes = parts[0].sizes();
  const std::int64_t rows = sizes[0] * sizes[1];
  return at::stack(parts, 2).view({rows, std::ssize(parts) * sizes[2] * sizes[3]});
}

// Backward: each step leaves the gradients of weights and modulations, and returns that of its
// input.

/// Where gradients are left.
struct DenoiserGradients {
  at::Tensor* weights = nullptr;
  std::array<at::Tensor, 9> modulations = {};  ///< [batch, dim] each
};

at::Tensor product_backward(const at::Tensor& grad, const at::Tensor& input, std::size_t weight,
                            const variable_list& kept, DenoiserGradients& grads) {
  grads.weights[weight] = at::mm(grad.t(), input).to(kept[weight].scalar_type());
  return at::mm(grad, kept[weight].to(grad.scalar_type()));
}

at::Tensor affine_backward(const at::Tensor& grad, const at::Tensor& input, std::size_t weight,
                           const variable_list& kept, DenoiserGradients& grads) {
  grads.weights[weight + 1] = grad.sum(0).to(kept[weight].scalar_type());
  return product_backward(grad, input, weight, kept, grads);
}

/// From the gradient of the rows behind a branch to that of what was gated.
at::Tensor leave_backward(const at::Tensor& grad, Branch branch, const variable_list& kept,
                          DenoiserGradients& grads) {
  const at::Tensor& gated = kept[place(branch, kGated)];
  const at::Tensor cast = grad.to(gated.scalar_type());
  const at::Tensor gate = modulation(kept, branch, 2);
  grads.modulations[3 * branch + 2] = sum_by_sample(cast * gated, gate.size(0));
  return scaled_by_sample(cast, gate);
}

/// From the gradient of the modulated rows, and that of the rows behind the branch, to that of the
/// rows before it.
at::Tensor enter_backward(const at::Tensor& grad, const at::Tensor& grad_behind, Branch branch,
                          const variable_list& kept, DenoiserGradients& grads) {
  const at::Tensor& x = kept[place(branch, kInput)];
  const at::Tensor& mean = kept[place(branch, kMean)];
  const at::Tensor& rstd = kept[place(branch, kRstd)];
  const at::Tensor cast = grad.to(x.scalar_type());
  const at::Tensor scale = modulation(kept, branch, 1);
  const std::int64_t batch = scale.size(0);
  grads.modulations[3 * branch] = sum_by_sample(cast, batch);
  grads.modulations[3 * branch + 1] = sum_by_sample(cast * ((x - mean) * rstd), batch);
  const at::Tensor grad_x = std::get<0>(
      at::native_layer_norm_backward(scaled_by_sample(cast, scale + 1), x, x.sizes().slice(1), mean,
                                     rstd, {}, {}, {true, false, false}));
  return grad_x + grad_behind;
}

at::Tensor self_backward(const at::Tensor& grad, const FusedDenoiserOptions& options,
                         std::int64_t kernel, const variable_list& kept, DenoiserGradients& grads) {
  at::Tensor inner = leave_backward(grad, kSelf, kept, grads);
  inner = affine_backward(inner, join_heads(kept[kSelfMixed]), kProjWeight, kept, grads);
  const auto qkv = split_into_heads(kept[kSelfQkv], 3, options.shape.batch, options.num_heads);
  const auto mixed = split_into_heads(inner, 1, options.shape.batch, options.num_heads);
  inner =
      join_parts(attention_backward(mixed[0], {qkv[0], qkv[1], qkv[2]}, kernel, &kept[kSelfMixed]));
  inner = product_backward(inner, kept[place(kSelf, kModulated)], kQkvWeight, kept, grads);
  return enter_backward(inner, grad, kSelf, kept, grads);
}

/// Also gives the gradient of keys and values.
std::tuple<at::Tensor, at::Tensor> cross_backward(const at::Tensor& grad,
                                                  const FusedDenoiserOptions& options,
                                                  std::int64_t kernel, const variable_list& kept,
                                                  DenoiserGradients& grads) {
  const std::int64_t batch = options.shape.batch;
  at::Tensor inner = leave_backward(grad, kCross, kept, grads);
  inner = affine_backward(inner, join_heads(kept[kCrossMixed]), kCrossProjWeight, kept, grads);
  const auto query = split_into_heads(kept[kCrossQuery], 1, batch, options.num_heads);
  const auto kv =
      split_into_heads(kept[kKeysValues].to(options.dtype), 2, batch, options.num_heads);
  const auto mixed = split_into_heads(inner, 1, batch, options.num_heads);
  const auto found =
      attention_backward(mixed[0], {query[0], kv[0], kv[1]}, kernel, &kept[kCrossMixed]);
  inner = product_backward(join_parts({found[0]}), kept[place(kCross, kModulated)], kQueryWeight,
                           kept, grads);
  return {enter_backward(inner, grad, kCross, kept, grads),
          join_parts({found[1], found[2]}).to(kept[kKeysValues].scalar_type())};
}

at::Tensor mlp_backward(const at::Tensor& grad, const variable_list& kept,
                        DenoiserGradients& grads) {
  at::Tensor inner = leave_backward(grad, kMlp, kept, grads);
  inner = affine_backward(inner, kept[kMlpActivated], kFc2Weight, kept, grads);
  inner = at::gelu_backward(inner, kept[kMlpHidden]);
  inner = affine_backward(inner, kept[place(kMlp, kModulated)], kFc1Weight, kept, grads);
  return enter_backward(inner, grad, kMlp, kept, grads);
}

struct FusedDenoiserBlock : torch::autograd::Function<FusedDenoiserBlock> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& condition, const at::Tensor& keys_values,
                            at::TensorList weights, const FusedDenoiserOptions& options) {
    // Types are written out here.
    const tensor::AutocastGuard no_autocast({x.device().type(), false, options.dtype});
    const std::int64_t batch = options.shape.batch;
    const auto split = [&](const at::Tensor& rows, std::int64_t count) {
      return split_into_heads(rows, count, batch, options.num_heads);
    };
    variable_list kept(weights.begin(), weights.end());
    kept.resize(kDenoiserSavedCount);
    kept[kCondition] = condition;
    kept[kKeysValues] = keys_values;
    kept[kModulations] = affine(condition.to(options.dtype), kModulationWeight, kept);

    kept[kSelfQkv] = product(enter(x, kSelf, options, kept), kQkvWeight, kept);
    const auto qkv = split(kept[kSelfQkv], 3);
    const std::int64_t self = attend({qkv[0], qkv[1], qkv[2]}, &kept[kSelfMixed]);
    const at::Tensor y =
        leave(affine(join_heads(kept[kSelfMixed]), kProjWeight, kept), kSelf, kept);

    kept[kCrossQuery] = product(enter(y, kCross, options, kept), kQueryWeight, kept);
    const auto kv = split(keys_values.to(options.dtype), 2);
    const std::int64_t cross =
        attend({split(kept[kCrossQuery], 1)[0], kv[0], kv[1]}, &kept[kCrossMixed]);
    const at::Tensor z =
        leave(affine(join_heads(kept[kCrossMixed]), kCrossProjWeight, kept), kCross, kept);

    kept[kMlpHidden] = affine(enter(z, kMlp, options, kept), kFc1Weight, kept);
    kept[kMlpActivated] = at::gelu(kept[kMlpHidden]);
    at::Tensor output = leave(affine(kept[kMlpActivated], kFc2Weight, kept), kMlp, kept);
    context->saved_data["kernels"] =
        std::vector<std::int64_t>{self, cross, batch, options.num_heads};
    context->save_for_backward(std::move(kept));
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    const variable_list kept = context->get_saved_variables();
    PACELINE_CHECK(kept.size() == kDenoiserSavedCount, "a fused block saved {} tensors",
                   kept.size());
    const auto said = context->saved_data["kernels"].toIntVector();
    const FusedDenoiserOptions options{.shape = {.batch = said[2]},
                                       .num_heads = said[3],
                                       .dtype = kept[kModulations].scalar_type()};
    // One gradient for each of x, condition, keys and values and the weights; the options have
    // none.
    variable_list all(3 + kNumDenoiserWeights + 1);
    DenoiserGradients grads{.weights = &all[3]};
    const at::Tensor behind_cross = mlp_backward(grad_outputs[0].contiguous(), kept, grads);
    const auto [behind_self, grad_keys_values] =
        cross_backward(behind_cross, options, said[1], kept, grads);
    all[0] = self_backward(behind_self, options, said[0], kept, grads);
    all[2] = grad_keys_values;
    const at::Tensor modulations = at::cat(at::TensorList(grads.modulations), 1).to(options.dtype);
    all[1] = affine_backward(modulations, kept[kCondition].to(options.dtype), kModulationWeight,
                             kept, grads)
                 .to(kept[kCondition].scalar_type());
    return all;
  }
};

}  // namespace

std::optional<at::ScalarType> fused_denoiser_block_dtype(const DenoiserInputs& inputs,
                                                         const DenoiserWeights& weights) {
  const at::Tensor& x = inputs.x;
  const at::ScalarType dtype = x.scalar_type();
  if (x.is_meta() || !x.is_floating_point() || !x.is_contiguous()) return std::nullopt;
  const at::ScalarType cast = tensor::AutocastSettings::current(x.device().type()).cast_of(dtype);
  const bool are_alike = std::ranges::all_of(weights, [&](const at::Tensor& weight) {
    return weight.device() == x.device() && weight.scalar_type() == dtype;
  });
  const bool fit = std::ranges::all_of(
      std::array{inputs.condition, inputs.keys_values}, [&](const at::Tensor& input) {
        return input.device() == x.device() && input.is_contiguous() &&
               (input.scalar_type() == dtype || input.scalar_type() == cast);
      });
  return are_alike && fit ? std::optional(cast) : std::nullopt;
}

at::Tensor fused_denoiser_block(const DenoiserInputs& inputs, const DenoiserWeights& weights,
                                const FusedDenoiserOptions& options) {
  return FusedDenoiserBlock::apply(inputs.x, inputs.condition, inputs.keys_values,
                                   at::TensorList(weights), options);
}

}  // namespace paceline::models
