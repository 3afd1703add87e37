#include "paceline/nn/matmul.h"

#include "paceline/nn/attention/attention_kernel.h"
#include "paceline/nn/attention/small_head_attention.h"
#include "paceline/nn/pixels/weight_gradient.h"
#include "paceline/nn/rerun.h"
#include "paceline/tensor/autocast.h"

#include <array>
#include <optional>
#include <tuple>

#include <ATen/native/transformers/sdp_utils_cpp.h>

namespace paceline::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Gradients as autograd computes them for at::linear of matrices.
struct KnownLinear : torch::autograd::Function<KnownLinear> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                            const at::Tensor& result) {
    context->save_for_backward({input, weight});
    context->saved_data["has_bias"] = bias.has_value();
    return result.detach();
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& grad = grad_outputs[0];
    const bool has_bias = context->saved_data["has_bias"].toBool();
    variable_list grads(4);
    if (context->needs_input_grad(0)) grads[0] = grad.mm(saved[1]);
    if (context->needs_input_grad(1)) grads[1] = grad.t().mm(saved[0]);
    if (has_bias && context->needs_input_grad(2)) grads[2] = grad.sum(0);
    return grads;
  }
};

at::OptionalIntArrayRef size_if(bool has_bias, const std::array<std::int64_t, 1>& size) {
  return has_bias ? at::OptionalIntArrayRef(size) : at::OptionalIntArrayRef();
}

struct KnownConv2d : torch::autograd::Function<KnownConv2d> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                            const at::Tensor& result, std::int64_t stride, std::int64_t padding,
                            std::int64_t groups) {
    context->save_for_backward({input, weight});
    context->saved_data["has_bias"] = bias.has_value();
    context->saved_data["stride"] = stride;
    context->saved_data["padding"] = padding;
    context->saved_data["groups"] = groups;
    return result.detach();
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    const variable_list saved = context->get_saved_variables();
    const bool has_bias = context->saved_data["has_bias"].toBool();
    const ConvolutionShape shape{.stride = context->saved_data["stride"].toInt(),
                                 .padding = context->saved_data["padding"].toInt(),
                                 .groups = context->saved_data["groups"].toInt()};
    // Own sums have no graph of their own.
    const bool is_own = context->needs_input_grad(1) && !has_bias && !at::GradMode::is_enabled() &&
                        has_weight_gradient(saved[0], saved[1], shape);
    variable_list grads(7);
    if (context->needs_input_grad(0) || !is_own) {
      std::tie(grads[0], grads[1], grads[2]) = at::convolution_backward(
          grad_outputs[0], saved[0], saved[1], size_if(has_bias, {saved[1].size(0)}),
          {shape.stride, shape.stride}, {shape.padding, shape.padding}, /*dilation=*/{1, 1},
          /*transposed=*/false, /*output_padding=*/{0, 0}, shape.groups,
          {context->needs_input_grad(0), context->needs_input_grad(1) && !is_own,
           has_bias && context->needs_input_grad(2)});
    }
    if (is_own) grads[1] = weight_gradient(grad_outputs[0], saved[0], saved[1], shape);
    return grads;
  }
};

struct KnownAttention : torch::autograd::Function<KnownAttention> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& query,
                            const at::Tensor& key, const at::Tensor& value,
                            const at::Tensor& result, const at::Tensor& log_sum_exp) {
    context->save_for_backward({query, key, value, result, log_sum_exp});
    return result.detach();
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    const variable_list saved = context->get_saved_variables();
    variable_list grads(5);
    std::tie(grads[0], grads[1], grads[2]) =
        kernel_attention_backward(AttentionKernel::kFlash, grad_outputs[0], saved[0], saved[1],
                                  saved[2], {.mixed = saved[3], .log_sum_exp = saved[4]});
    return grads;
  }
};

/// As autocast would hand it to an operation; the cast has a gradient, as there.
at::Tensor cast(const at::Tensor& tensor) {
  const auto autocast = tensor::AutocastSettings::current(tensor.device().type());
  return tensor.to(autocast.cast_of(tensor.scalar_type()));
}

std::optional<at::Tensor> cast_if_defined(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(cast(tensor)) : std::nullopt;
}

bool is_as_autocast_wants(const at::Tensor& tensor) {
  const auto autocast = tensor::AutocastSettings::current(tensor.device().type());
  return !autocast.is_enabled || tensor.scalar_type() == autocast.dtype;
}

/// Whether at::scaled_dot_product_attention takes the kernel whose parts we know.
bool is_flash_on_cpu(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  return query.is_cpu() && is_as_autocast_wants(query) &&
         at::_fused_sdp_choice(query, key, value) ==
             static_cast<std::int64_t>(sdp::SDPBackend::flash_attention);
}

}  // namespace

at::Tensor linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  if (!Rerun::keeps_matmuls() || input.dim() != 2) return at::linear(input, weight, bias);
  const at::Tensor result =
      Rerun::once([&] { return Rerun::Tensors{at::linear(input, weight, bias)}; })[0];
  if (!Rerun::is_repeating()) return result;
  return KnownLinear::apply(cast(input), cast(weight), cast_if_defined(bias), result);
}

at::Tensor conv2d(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                  std::int64_t stride, std::int64_t padding, std::int64_t groups) {
  const std::array strides{stride, stride};
  const std::array paddings{padding, padding};
  constexpr std::array<std::int64_t, 2> kNoDilation{1, 1};
  const bool is_own = at::GradMode::is_enabled() && weight.requires_grad() && !bias.defined() &&
                      has_weight_gradient(input, weight, {stride, padding, groups}) &&
                      is_as_autocast_wants(input);
  // Not at::convolution, which the CPU's autocast leaves in float32.
  const auto compute = [&] {
    const at::AutoGradMode with_graph(at::GradMode::is_enabled() && !is_own);
    return at::conv2d(input, weight, bias, strides, paddings, kNoDilation, groups);
  };
  const bool keeps = Rerun::keeps_matmuls();
  const at::Tensor result =
      keeps ? Rerun::once([&] { return Rerun::Tensors{compute()}; })[0] : compute();
  if (!is_own && !(keeps && Rerun::is_repeating())) return result;
  return KnownConv2d::apply(cast(input), cast(weight), cast_if_defined(bias), result, stride,
                            padding, groups);
}

at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  const bool is_own = is_as_autocast_wants(query) && has_small_head_attention(query, key, value);
  const bool keeps = Rerun::keeps_matmuls() && (is_own || is_flash_on_cpu(query, key, value));
  if (!is_own && !keeps) return at::scaled_dot_product_attention(query, key, value);
  const auto compute = [&] {
    const KernelAttention found = kernel_attention(AttentionKernel::kFlash, query, key, value);
    return Rerun::Tensors{found.mixed, found.log_sum_exp};
  };
  const Rerun::Tensors found = keeps ? Rerun::once(compute) : compute();
  if (!is_own && !Rerun::is_repeating()) return found[0];
  return KnownAttention::apply(query, key, value, found[0], found[1]);
}

}  // namespace paceline::nn
