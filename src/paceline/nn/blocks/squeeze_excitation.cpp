#include "paceline/nn/blocks/squeeze_excitation.h"

#include "paceline/nn/matmul.h"

namespace paceline::nn {
namespace {

/// Of one pixel, where a convolution costs the CPU several times what a matrix product does.
at::Tensor convolve_pixel(const Conv2d& conv, const at::Tensor& pixel) {
  if (!pixel.is_cpu() || !conv.is_plain()) return conv.forward(pixel);
  const at::Tensor output = linear(pixel.flatten(1), conv.weight.flatten(1), conv.bias);
  return output.unsqueeze(-1).unsqueeze(-1);
}

}  // namespace

SqueezeExcitation::SqueezeExcitation(std::int64_t channels, std::int64_t squeeze_channels,
                                     Activation activation, Activation gate, bool has_bias)
    : activation_(activation), gate_(gate) {
  fc1_ = register_module("fc1", std::make_shared<Conv2d>(channels, squeeze_channels, 1,
                                                         Conv2d::Options{.bias = has_bias}));
  fc2_ = register_module("fc2", std::make_shared<Conv2d>(squeeze_channels, channels, 1,
                                                         Conv2d::Options{.bias = has_bias}));
}

at::Tensor SqueezeExcitation::forward(const at::Tensor& input) const {
  const at::Tensor means = input.mean({2, 3}, /*keepdim=*/true);
  const at::Tensor squeezed = activate(convolve_pixel(*fc1_, means), activation_);
  return input * activate(convolve_pixel(*fc2_, squeezed), gate_);
}

void SqueezeExcitation::count(LayerCosts& costs) const {
  ImageSize means{1, 1};
  fc1_->count(means, costs);
  fc2_->count(means, costs);
}

}  // namespace paceline::nn
