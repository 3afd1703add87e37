#include "paceline/nn/blocks/normed_activation.h"

#include "paceline/base/error.h"
#include "paceline/nn/norm_passes/norm_passes.h"
#include "paceline/nn/norm_passes/norm_rows.h"
#include "paceline/nn/rerun.h"

#include <cmath>

namespace paceline::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

bool is_plain(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == at::kFloat;
}

/// A number of each channel.
bool is_of_channels(const at::Tensor& tensor, const at::Tensor& images) {
  return is_plain(tensor) && tensor.numel() == images.size(1) && tensor.is_contiguous();
}

bool is_image(const at::Tensor& tensor) {
  return is_plain(tensor) && tensor.is_contiguous(at::MemoryFormat::ChannelsLast);
}

/// Whether the passes over pixels are made for it. One value per channel is an error that
/// BatchNorm2d tells.
bool has_passes(const BatchNorm2d& norm, const at::Tensor& input, Activation activation,
                const at::Tensor& added) {
  const bool takes_added =
      !added.defined() || (is_image(added) && added.sizes() == input.sizes() &&
                           (activation == Activation::kNone || activation == Activation::kRelu));
  return norm.uses_batch_statistics() && !norm.has_training_kernel() && is_image(input) &&
         input.numel() > input.size(1) && has_norm_rows(activation) && takes_added &&
         is_of_channels(norm.weight, input) && is_of_channels(norm.bias, input) &&
         is_of_channels(norm.running_mean, input) && is_of_channels(norm.running_var, input);
}

/// As LibTorch's batch_norm().
void move_statistics(const BatchNorm2d& norm, const BatchMoments& moments, double count) {
  norm.num_batches_tracked.add_(1);
  const at::Tensor& mean = norm.running_mean;
  const at::Tensor& variance = norm.running_var;
  auto* const means = mean.mutable_data_ptr<float>();
  auto* const variances = variance.mutable_data_ptr<float>();
  const double kept = 1.0 - norm.momentum();
  const double unbiased = norm.momentum() * count / (count - 1.0);
  for (std::size_t i = 0; i < moments.means.size(); ++i) {
    means[i] = static_cast<float>(norm.momentum() * moments.means[i] + kept * means[i]);
    variances[i] = static_cast<float>(unbiased * moments.variances[i] + kept * variances[i]);
  }
}

at::Tensor factors_of(const BatchNorm2d& norm, const BatchMoments& moments) {
  const std::int64_t channels = norm.weight.numel();
  at::Tensor factors = at::empty({kNormFactors, channels}, norm.weight.options());
  const auto* const weight = norm.weight.const_data_ptr<float>();
  const auto* const bias = norm.bias.const_data_ptr<float>();
  auto* const to = factors.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < channels; ++i) {
    const double mean = moments.means[static_cast<std::size_t>(i)];
    const double rstd =
        1.0 / std::sqrt(moments.variances[static_cast<std::size_t>(i)] + norm.eps());
    to[kNormMean * channels + i] = static_cast<float>(mean);
    to[kNormRstd * channels + i] = static_cast<float>(rstd);
    to[kNormScale * channels + i] = static_cast<float>(weight[i] * rstd);
    to[kNormShift * channels + i] = static_cast<float>(bias[i] - mean * weight[i] * rstd);
  }
  return factors;
}

/// Weight and bias are among the arguments for their gradients; what is computed with them is in
/// the factors.
struct NormedActivation : torch::autograd::Function<NormedActivation> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& /*weight*/, const at::Tensor& /*bias*/,
                            const std::optional<at::Tensor>& added, const at::Tensor& factors,
                            Activation activation) {
    const at::Tensor other = added.value_or(at::Tensor());
    const at::Tensor output = normalise_images(input, factors, activation, other);
    context->saved_data["activation"] = static_cast<std::int64_t>(activation);
    const bool sees_sum = other.defined() && activation == Activation::kRelu;
    context->save_for_backward({input, factors, sees_sum ? output : at::Tensor()});
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    PACELINE_CHECK(!at::GradMode::is_enabled(),
                   "backward(create_graph=true) does not go through a fused norm: run the network "
                   "in float64 or channels-first");
    const variable_list saved = context->get_saved_variables();
    const auto activation = static_cast<Activation>(context->saved_data["activation"].toInt());
    const at::Tensor grad = grad_outputs[0].contiguous(at::MemoryFormat::ChannelsLast);
    const NormGradients grads =
        normalise_images_backward(grad, saved[0], saved[2], saved[1], activation);
    const at::Tensor& added = saved[2].defined() ? grads.inner : grad;
    return {grads.images, grads.weight,
            grads.bias,   context->needs_input_grad(3) ? added : at::Tensor(),
            {},           {}};
  }
};

}  // namespace

at::Tensor normed_activation(const BatchNorm2d& norm, const at::Tensor& input,
                             Activation activation, const at::Tensor& added) {
  if (!has_passes(norm, input, activation, added))
    return normed_activation_by_operations(norm, input, activation, added);
  const BatchMoments moments = batch_moments(input);
  if (!Rerun::is_repeating())
    move_statistics(norm, moments, static_cast<double>(input.numel() / input.size(1)));
  return NormedActivation::apply(input, norm.weight, norm.bias,
                                 added.defined() ? std::optional(added) : std::nullopt,
                                 factors_of(norm, moments), activation);
}

at::Tensor normed_activation_by_operations(const BatchNorm2d& norm, const at::Tensor& input,
                                           Activation activation, const at::Tensor& added) {
  at::Tensor output = norm.forward(input);
  if (added.defined())
    output = added.scalar_type() == output.scalar_type() ? output.add_(added) : output + added;
  return activation == Activation::kRelu ? at::relu_(output) : activate(output, activation);
}

}  // namespace paceline::nn
