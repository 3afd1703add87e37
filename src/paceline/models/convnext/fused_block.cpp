#include "paceline/models/convnext/fused_block.h"

#include "paceline/base/error.h"
#include "paceline/nn/pixels/channel_sums.h"
#include "paceline/nn/pixels/depthwise_gradient.h"
#include "paceline/tensor/autocast.h"

#include <algorithm>
#include <tuple>

namespace paceline::models {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::size_t kNumConvNextWeights = std::tuple_size_v<ConvNextBlockWeights>;

/// One pass through a block, forward or backward: what is kept between the two, by its places.
/// "Rows" are all pixels of all samples, [rows, channels].
class ConvNextPass {
 public:
  ConvNextPass(variable_list kept, at::ScalarType dtype) : kept_(std::move(kept)), dtype_(dtype) {
    kept_.resize(kCount);
  }

  at::Tensor forward(const at::Tensor& input, const FusedConvNextOptions& options);
  /// `grads` has places as the weights; returns the input's gradient.
  at::Tensor backward(const at::Tensor& grad, at::Tensor* grads) const;
  variable_list take_kept() { return std::move(kept_); }

 private:
  // Places: the weights, each bias behind its weight, then what forward keeps for backward;
  // undefined or empty where a block has not got it.
  enum Place : std::size_t {
    kGamma = 0,
    kConv = 1,
    kNorm = 3,
    kFc1 = 5,
    kResponse = 7,
    kFc2 = 9,
    kInput = kNumConvNextWeights,
    kConvolved,
    kMean,
    kRstd,
    kNormed,
    kHidden,
    kActivated,  // [N, pixels, 4 * dim]
    kNorms,      // of the response norm, [N, 4 * dim]
    kResponded,  // behind it; the activated ones without it
    kBranch,     // before layer scale, unless that is in the weights
    kPath,
    kCount
  };

  bool has(Place place) const { return kept_[place].numel() > 0; }
  bool has_path() const { return kept_[kPath].defined(); }
  /// Whether layer scale can be in the last layer's weights: what reduced types round or lose would
  /// not be the same.
  bool folds() const { return dtype_ == at::kFloat || dtype_ == at::kDouble; }
  at::Tensor cast(std::size_t place) const { return kept_[place].to(dtype_); }
  at::Tensor matrix(Place place) const { return cast(place).flatten(1); }
  at::Tensor folded_weight() const {
    const at::Tensor weight = matrix(kFc2);
    return has(kGamma) && folds() ? weight * kept_[kGamma].unsqueeze(1) : weight;
  }
  at::Tensor by_sample(const at::Tensor& rows) const {
    const std::int64_t samples = kept_[kPath].size(0);
    return (rows.unflatten(0, {samples, -1}) * kept_[kPath].view({samples, 1, 1})).flatten(0, 1);
  }
  at::Tensor convolve(const at::Tensor& input, const at::Tensor& weight,
                      const at::Tensor& bias) const {
    return at::conv2d(input, weight, bias, /*stride=*/{1, 1}, /*padding=*/{3, 3},
                      /*dilation=*/{1, 1}, weight.size(0));
  }

  void respond();
  at::Tensor add_branch(const at::Tensor& rows);

  void linear_gradients(const at::Tensor& grad, const at::Tensor& input, Place place,
                        at::Tensor* grads) const;
  at::Tensor branch_backward(const at::Tensor& grad, at::Tensor* grads) const;
  at::Tensor folded_backward(const at::Tensor& grad, at::Tensor* grads) const;
  void respond_backward(const at::Tensor& grad, at::Tensor* grads) const;
  at::Tensor norm_backward(const at::Tensor& grad, at::Tensor* grads) const;
  at::Tensor convolution_backward(const at::Tensor& grad, const at::Tensor& grad_identity,
                                  at::Tensor* grads) const;

  variable_list kept_;
  at::ScalarType dtype_;
};

at::Tensor ConvNextPass::forward(const at::Tensor& input, const FusedConvNextOptions& options) {
  kept_[kInput] = input;
  kept_[kPath] = options.path;
  kept_[kConvolved] =
      convolve(input.to(dtype_), cast(kConv), cast(kConv + 1)).permute({0, 2, 3, 1}).contiguous();
  std::tie(kept_[kNormed], kept_[kMean], kept_[kRstd]) = at::native_layer_norm(
      kept_[kConvolved], kept_[kNorm].sizes(), kept_[kNorm], kept_[kNorm + 1], options.eps);
  kept_[kNormed] = kept_[kNormed].to(dtype_).flatten(0, 2);
  kept_[kHidden] = at::addmm(cast(kFc1 + 1), kept_[kNormed], matrix(kFc1).t());
  kept_[kActivated] = at::gelu(kept_[kHidden]).unflatten(0, {input.size(0), -1});
  respond();
  const at::Tensor rows = input.permute({0, 2, 3, 1}).flatten(0, 2);
  return add_branch(rows).view(kept_[kConvolved].sizes()).permute({0, 3, 1, 2});
}

void ConvNextPass::respond() {
  const at::Tensor& activated = kept_[kActivated];
  at::Tensor responded = activated;
  if (has(kResponse)) {
    kept_[kNorms] = nn::channel_sums(activated, activated).products.sqrt_();
    const at::Tensor& norms = kept_[kNorms];
    const at::Tensor scale =
        kept_[kResponse] * (norms / (norms.mean(-1, /*keepdim=*/true) + nn::kResponseNormEps)) +
        1.0;
    responded = at::addcmul(kept_[kResponse + 1], activated, scale.unsqueeze(1)).to(dtype_);
  }
  kept_[kResponded] = responded.flatten(0, 1);
}

/// The last linear layer's results and what follows it, added to the rows.
at::Tensor ConvNextPass::add_branch(const at::Tensor& rows) {
  at::Tensor bias = cast(kFc2 + 1);
  const at::Tensor weight = folded_weight().t();
  if (folds() && has(kGamma)) bias = bias * kept_[kGamma];
  if (folds() && !has_path()) return (rows + bias).addmm_(kept_[kResponded], weight);
  at::Tensor branch = at::addmm(bias, kept_[kResponded], weight);
  if (!folds() && has(kGamma)) {
    kept_[kBranch] = branch;
    branch = branch * kept_[kGamma];
  }
  if (has_path()) branch = by_sample(branch);
  return branch.scalar_type() == rows.scalar_type() ? branch.add_(rows) : rows + branch;
}

void ConvNextPass::linear_gradients(const at::Tensor& grad, const at::Tensor& input, Place place,
                                    at::Tensor* grads) const {
  const at::Tensor& weight = kept_[place];
  grads[place] = at::mm(grad.t(), input).to(weight.scalar_type()).view(weight.sizes());
  grads[place + 1] = grad.sum(0).to(weight.scalar_type());
}

/// From the gradient of the result to that of what the last linear layer sees.
at::Tensor ConvNextPass::branch_backward(const at::Tensor& grad, at::Tensor* grads) const {
  if (folds()) return folded_backward(has_path() ? by_sample(grad) : grad, grads);
  at::Tensor inner = has(kGamma) ? grad : grad.to(dtype_);
  if (has_path()) inner = by_sample(inner);
  if (has(kGamma)) {
    grads[kGamma] = (inner * kept_[kBranch]).sum(0);
    inner = (inner * kept_[kGamma]).to(dtype_);
  }
  linear_gradients(inner, kept_[kResponded], kFc2, grads);
  return at::mm(inner, matrix(kFc2));
}

/// The gradients of weight, bias and gamma are all in the sums that those of the product of gamma
/// and weight are made of.
at::Tensor ConvNextPass::folded_backward(const at::Tensor& grad, at::Tensor* grads) const {
  linear_gradients(grad, kept_[kResponded], kFc2, grads);
  if (has(kGamma)) {
    const at::Tensor& gamma = kept_[kGamma];
    const at::Tensor sums = grads[kFc2].flatten(1);
    grads[kGamma] = (sums * matrix(kFc2)).sum(1).addcmul_(grads[kFc2 + 1], kept_[kFc2 + 1]);
    sums.mul_(gamma.unsqueeze(1));
    grads[kFc2 + 1].mul_(gamma);
  }
  return at::mm(grad, folded_weight());
}

/// In place, from the gradient of what the response norm gives to that of what it sees.
void ConvNextPass::respond_backward(const at::Tensor& grad, at::Tensor* grads) const {
  const at::Tensor& norms = kept_[kNorms];
  const at::Tensor& weight = kept_[kResponse];
  const auto [sums, products] = nn::channel_sums(grad, kept_[kActivated]);
  const at::Tensor mean = norms.mean(-1, /*keepdim=*/true) + nn::kResponseNormEps;
  const at::Tensor response = norms / mean;
  grads[kResponse] = (products * response).sum(0).to(weight.scalar_type());
  grads[kResponse + 1] = sums.sum(0).to(weight.scalar_type());
  const at::Tensor grad_response = products * weight;
  const at::Tensor through_mean = (grad_response * response).mean(-1, /*keepdim=*/true);
  const at::Tensor by_norms = (grad_response - through_mean) / (mean * norms);
  nn::scale_and_add(grad, (weight * response + 1.0).to(norms.scalar_type()), kept_[kActivated],
                    by_norms.masked_fill(norms == 0.0, 0.0));
}

at::Tensor ConvNextPass::norm_backward(const at::Tensor& grad, at::Tensor* grads) const {
  const at::Tensor& convolved = kept_[kConvolved];
  at::Tensor grad_convolved;
  std::tie(grad_convolved, grads[kNorm], grads[kNorm + 1]) = at::native_layer_norm_backward(
      grad.to(convolved.scalar_type()).view(convolved.sizes()), convolved, kept_[kNorm].sizes(),
      kept_[kMean], kept_[kRstd], kept_[kNorm], kept_[kNorm + 1], {true, true, true});
  return grad_convolved;
}

at::Tensor ConvNextPass::convolution_backward(const at::Tensor& grad,
                                              const at::Tensor& grad_identity,
                                              at::Tensor* grads) const {
  const at::Tensor& input = kept_[kInput];
  const at::ScalarType weight_dtype = kept_[kConv].scalar_type();
  auto [weight, bias] = nn::depthwise_gradients(grad, input.to(dtype_).permute({0, 2, 3, 1}));
  grads[kConv] = weight.to(weight_dtype);
  grads[kConv + 1] = bias.to(weight_dtype);
  // A depthwise convolution's gradient is one with the kernel turned around.
  const at::Tensor grad_input =
      convolve(grad.permute({0, 3, 1, 2}), cast(kConv).flip({2, 3}), /*bias=*/{});
  return grad_input.scalar_type() == grad_identity.scalar_type()
             ? grad_input.add_(grad_identity).to(input.scalar_type())
             : (grad_input + grad_identity).to(input.scalar_type());
}

at::Tensor ConvNextPass::backward(const at::Tensor& grad, at::Tensor* grads) const {
  const at::Tensor grad_rows = grad.permute({0, 2, 3, 1}).contiguous().flatten(0, 2);
  at::Tensor inner = branch_backward(grad_rows, grads);
  if (has(kResponse)) respond_backward(inner.view(kept_[kActivated].sizes()), grads);
  at::gelu_backward_out(inner, inner, kept_[kHidden]);
  linear_gradients(inner, kept_[kNormed], kFc1, grads);
  inner = norm_backward(at::mm(inner, matrix(kFc1)), grads);
  return convolution_backward(inner, grad, grads);
}

struct FusedConvNextBlock : torch::autograd::Function<FusedConvNextBlock> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            at::TensorList weights, const FusedConvNextOptions& options) {
    // Types are written out here.
    const tensor::AutocastGuard no_autocast({input.device().type(), false, options.dtype});
    ConvNextPass pass({weights.begin(), weights.end()}, options.dtype);
    const at::Tensor output = pass.forward(input, options);
    context->saved_data["dtype"] = static_cast<std::int64_t>(options.dtype);
    context->save_for_backward(pass.take_kept());
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    const auto dtype = static_cast<at::ScalarType>(context->saved_data["dtype"].toInt());
    const ConvNextPass pass(context->get_saved_variables(), dtype);
    // One gradient for the input, the weights and, undefined, for the other argument.
    variable_list grads(1 + kNumConvNextWeights + 1);
    grads[0] = pass.backward(grad_outputs[0], &grads[1]);
    return grads;
  }
};

}  // namespace

std::optional<at::ScalarType> fused_convnext_block_dtype(const at::Tensor& input,
                                                         const ConvNextBlockWeights& weights) {
  const at::ScalarType stored = weights[1].scalar_type();
  const bool are_alike = std::ranges::all_of(weights, [&](const at::Tensor& weight) {
    return weight.numel() == 0 ||
           (weight.device() == input.device() && weight.scalar_type() == stored);
  });
  if (!are_alike || input.is_meta() || input.numel() == 0 ||
      !input.is_contiguous(at::MemoryFormat::ChannelsLast))
    return std::nullopt;
  const auto autocast = tensor::AutocastSettings::current(input.device().type());
  const at::ScalarType dtype = autocast.cast_of(stored);
  const at::ScalarType of_input = input.scalar_type();
  return of_input == stored || of_input == dtype ? std::optional(dtype) : std::nullopt;
}

at::Tensor fused_convnext_block(const at::Tensor& input, const ConvNextBlockWeights& weights,
                                const FusedConvNextOptions& options) {
  return FusedConvNextBlock::apply(input, at::TensorList(weights), options);
}

}  // namespace paceline::models
