#pragma once

#include "paceline/tensor/torch.h"

#include <string>

namespace paceline::test {

/// Deterministic values in [-0.5, 0.5] that differ with `phase`.
inline at::Tensor wave(at::IntArrayRef sizes, double phase, at::ScalarType dtype = at::kDouble) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return (at::arange(count, at::kDouble).mul(0.7).add(phase).sin().mul(0.5))
      .reshape(sizes)
      .to(dtype);
}

/// Images [N, 3, 8, 8] to logits [N, 5]: a channels-last convolution, then two linear layers. One
/// buffer, `seen`, is only there to be synchronised.
class SmallNet : public torch::nn::Module {
 public:
  explicit SmallNet(double phase = 0, at::ScalarType dtype = at::kDouble) {
    const auto weight = [&](const std::string& name, at::IntArrayRef sizes) {
      return register_parameter(name, wave(sizes, phase + static_cast<double>(name.size()), dtype));
    };
    conv_weight = register_parameter(
        "conv_weight", wave({6, 3, 3, 3}, phase, dtype).contiguous(at::MemoryFormat::ChannelsLast));
    conv_bias = weight("conv_bias", {6});
    hidden_weight = weight("hidden_weight", {16, 6 * 4});
    hidden_bias = weight("hidden_bias", {16});
    head_weight = weight("head_weight", {5, 16});
    head_bias = weight("head_bias", {5});
    seen = register_buffer("seen", at::full({2}, phase, dtype));
  }

  at::Tensor forward(const at::Tensor& images) const {
    const at::Tensor features = at::relu(at::conv2d(images, conv_weight, conv_bias, 2));
    const at::Tensor pooled = at::adaptive_avg_pool2d(features, {2, 2}).flatten(1);
    return at::linear(at::tanh(at::linear(pooled, hidden_weight, hidden_bias)), head_weight,
                      head_bias);
  }

  at::Tensor conv_weight, conv_bias, hidden_weight, hidden_bias, head_weight, head_bias, seen;
};

/// The sum over samples of a loss against fixed targets, for samples [first, first + count).
inline at::Tensor summed_loss(const SmallNet& net, std::int64_t first, std::int64_t count) {
  const auto dtype = net.head_bias.scalar_type();
  const at::Tensor images = wave({64, 3, 8, 8}, 3, dtype).narrow(0, first, count);
  const at::Tensor targets = wave({64, 5}, 5, dtype).narrow(0, first, count);
  return (net.forward(images) - targets).square().sum();
}

}  // namespace paceline::test
