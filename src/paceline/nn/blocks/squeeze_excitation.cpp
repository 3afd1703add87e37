#include "paceline/nn/blocks/squeeze_excitation.h"

namespace paceline::nn {

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
  const at::Tensor squeezed = activate(fc1_->forward(means), activation_);
  return input * activate(fc2_->forward(squeezed), gate_);
}

void SqueezeExcitation::count(LayerCosts& costs) const {
  ImageSize means{1, 1};
  fc1_->count(means, costs);
  fc2_->count(means, costs);
}

}  // namespace paceline::nn
