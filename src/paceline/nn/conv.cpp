#include "paceline/nn/conv.h"

#include "paceline/nn/matmul.h"

namespace paceline::nn {

Conv2d::Conv2d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size,
               const Options& options)
    : in_channels_(in_channels), kernel_size_(kernel_size), options_(options) {
  weight = register_parameter(
      "weight", at::empty({out_channels, in_channels / options.groups, kernel_size, kernel_size}));
  if (options.bias) bias = register_parameter("bias", at::empty({out_channels}));
}

at::Tensor Conv2d::convolve(const at::Tensor& input, std::int64_t stride) const {
  return conv2d(input, weight, bias, stride, options_.padding, options_.groups);
}

ImageSize Conv2d::output_size(const ImageSize& input, std::int64_t stride) const {
  const auto length = [&](std::int64_t size) {
    return (size + 2 * options_.padding - kernel_size_) / stride + 1;
  };
  return {length(input.height), length(input.width)};
}

void Conv2d::count(ImageSize& size, LayerCosts& costs) const {
  const double total = flops(size);
  size = output_size(size);
  costs.add(*this, total, {weight.size(0), size.height, size.width});
}

double Conv2d::convolve_flops(const ImageSize& input, std::int64_t stride) const {
  const ImageSize output = output_size(input, stride);
  return 2.0 * static_cast<double>(weight.numel() * output.height * output.width);
}

}  // namespace paceline::nn
