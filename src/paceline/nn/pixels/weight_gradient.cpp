#include "paceline/nn/pixels/weight_gradient.h"

#include "paceline/nn/pixels/depthwise_gradient.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/autocast.h"

namespace paceline::nn {
namespace {

bool is_pointwise(const at::Tensor& weight, const ConvolutionShape& shape) {
  return weight.size(2) == 1 && weight.size(3) == 1 && shape.padding == 0 && shape.groups == 1;
}

DepthwiseKernel kernel_of(const at::Tensor& weight, const ConvolutionShape& shape) {
  return {.size = weight.size(2), .stride = shape.stride};
}

bool is_depthwise(const at::Tensor& input, const at::Tensor& weight,
                  const ConvolutionShape& shape) {
  return shape.groups == input.size(1) && weight.size(0) == shape.groups &&
         weight.size(2) == weight.size(3) && shape.padding == (weight.size(2) - 1) / 2 &&
         kernel_of(weight, shape).has_sums();
}

/// [pixels, channels]
at::Tensor pixel_rows(const at::Tensor& images) {
  return images.permute({0, 2, 3, 1}).reshape({-1, images.size(1)});
}

at::Tensor pointwise_gradient(const at::Tensor& grad, const at::Tensor& input,
                              std::int64_t stride) {
  const at::Tensor seen = input.slice(2, 0, std::nullopt, stride).slice(3, 0, std::nullopt, stride);
  return at::mm(pixel_rows(grad).t(), pixel_rows(seen));
}

}  // namespace

bool has_weight_gradient(const at::Tensor& input, const at::Tensor& weight,
                         const ConvolutionShape& shape) {
  if (!input.is_cpu() || input.scalar_type() != at::kFloat || weight.scalar_type() != at::kFloat ||
      input.dim() != 4 || input.numel() == 0 ||
      !input.is_contiguous(at::MemoryFormat::ChannelsLast) ||
      !weight.is_contiguous(weight.suggest_memory_format()))
    return false;
  return is_pointwise(weight, shape) || is_depthwise(input, weight, shape);
}

at::Tensor weight_gradient(const at::Tensor& grad, const at::Tensor& input,
                           const at::Tensor& weight, const ConvolutionShape& shape) {
  const tensor::AutocastGuard no_autocast({at::kCPU, false, at::kBFloat16});  // as convolutions'
  const at::Tensor sums =
      is_pointwise(weight, shape)
          ? pointwise_gradient(grad, input, shape.stride)
          : depthwise_gradients(grad.permute({0, 2, 3, 1}), input.permute({0, 2, 3, 1}),
                                kernel_of(weight, shape))
                .first;
  // In memory both layouts of these weights are the same.
  return sums.as_strided(weight.sizes(), weight.strides());
}

}  // namespace paceline::nn
