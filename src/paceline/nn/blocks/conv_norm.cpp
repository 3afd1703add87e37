#include "paceline/nn/blocks/conv_norm.h"

namespace paceline::nn {

ConvNorm::ConvNorm(std::int64_t in_channels, std::int64_t out_channels, const Options& options)
    : activation_(options.activation) {
  step_.conv = register_module(
      "0", std::make_shared<Conv2d>(in_channels, out_channels, options.kernel_size,
                                    Conv2d::Options{.stride = options.stride,
                                                    .padding = (options.kernel_size - 1) / 2,
                                                    .groups = options.groups}));
  step_.norm = register_module(
      "1", std::make_shared<BatchNorm2d>(out_channels, options.norm_eps, options.norm_momentum));
}

at::Tensor ConvNorm::forward(const at::Tensor& input) const {
  return step_.forward(input, activation_);
}

at::Tensor ConvNorm::forward_add(const at::Tensor& input, const at::Tensor& added) const {
  return activation_ == Activation::kNone ? step_.forward_add(input, added)
                                          : forward(input) + added;
}

}  // namespace paceline::nn
