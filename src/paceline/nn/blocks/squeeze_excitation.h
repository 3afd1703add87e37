#pragma once

#include "paceline/nn/activation.h"
#include "paceline/nn/conv.h"

#include <cstdint>
#include <memory>

namespace paceline::nn {

/// Multiplies each channel of an image by a factor that the means of all channels give, by two 1x1
/// convolutions with torchvision's names `fc1` and `fc2`.
/// Paper: Hu et al., "Squeeze-and-excitation networks", 2018.
class SqueezeExcitation : public torch::nn::Module {
 public:
  /// `gate` is the activation that makes the factors.
  SqueezeExcitation(std::int64_t channels, std::int64_t squeeze_channels, Activation activation,
                    Activation gate, bool has_bias = true);

  /// [N, channels, H, W] to the same shape.
  at::Tensor forward(const at::Tensor& input) const;

  /// One image, whatever its size.
  void count(LayerCosts& costs) const;

 private:
  std::shared_ptr<Conv2d> fc1_;
  std::shared_ptr<Conv2d> fc2_;
  Activation activation_;
  Activation gate_;
};

}  // namespace paceline::nn
