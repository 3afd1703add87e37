#include "paceline/nn/conv.h"

#include "paceline/base/error.h"
#include "paceline/nn/factors/factors.h"
#include "paceline/nn/matmul.h"

#include <array>
#include <string>

namespace paceline::nn {

Conv2d::Conv2d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size,
               const Options& options)
    : in_channels_(in_channels), kernel_size_(kernel_size), options_(options) {
  weight = register_parameter(
      "weight", at::empty({out_channels, in_channels / options.groups, kernel_size, kernel_size}));
  if (options.bias) bias = register_parameter("bias", at::empty({out_channels}));
}

at::Tensor Conv2d::convolve(const at::Tensor& input, std::int64_t stride) const {
  if (!to_latent_) return conv2d(input, weight, bias, stride, options_.padding, options_.groups);
  PACELINE_CHECK(stride == options_.stride, "stride {} of factors that have {}", stride,
                 options_.stride);
  return conv2d(to_latent_->forward(input), weight, bias, /*stride=*/1, /*padding=*/0);
}

void Conv2d::factorize(std::int64_t latent) {
  PACELINE_CHECK(is_plain() && options_.groups == 1, "a convolution that cannot be two");
  Options options = options_;
  options.bias = false;
  to_latent_ =
      register_module(std::string(kToLatent),
                      std::make_shared<Conv2d>(in_channels_, latent, kernel_size_, options));
  const std::int64_t out_channels = weight.size(0);
  at::Tensor& first = to_latent_->weight;
  first.set_data(parameter_beside(weight, first.sizes()));
  first.set_requires_grad(weight.requires_grad());
  if (!bias.defined())
    bias = register_parameter("bias", parameter_beside(weight, std::array{out_channels}),
                              weight.requires_grad());
  weight = parameter_beside(weight, std::array<std::int64_t, 4>{out_channels, latent, 1, 1});
  parameters_["weight"] = weight;
}

ImageSize Conv2d::output_size(const ImageSize& input, std::int64_t stride) const {
  const auto length = [&](std::int64_t size) {
    return (size + 2 * options_.padding - kernel_size_) / stride + 1;
  };
  return {length(input.height), length(input.width)};
}

void Conv2d::count(ImageSize& size, LayerCosts& costs) const {
  double own = flops(size);
  if (to_latent_) {
    ImageSize latent = size;
    own -= to_latent_->flops(size);
    to_latent_->count(latent, costs);
  }
  size = output_size(size);
  costs.add(*this, own, {weight.size(0), size.height, size.width});
}

double Conv2d::convolve_flops(const ImageSize& input, std::int64_t stride) const {
  const ImageSize output = output_size(input, stride);
  const double own = 2.0 * static_cast<double>(weight.numel() * output.height * output.width);
  return to_latent_ ? to_latent_->flops(input) + own : own;
}

}  // namespace paceline::nn
