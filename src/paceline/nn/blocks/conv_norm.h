#pragma once

#include "paceline/nn/activation.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/nn/conv.h"

#include <cstdint>
#include <memory>

namespace paceline::nn {

/// A convolution without bias, batch normalisation and an activation: torchvision's
/// Conv2dNormActivation, with its names (`0` and `1`) and its padding, which keeps an odd kernel's
/// output as large as the input, divided by the stride.
class ConvNorm : public torch::nn::Module {
 public:
  struct Options {
    std::int64_t kernel_size = 3;
    std::int64_t stride = 1;
    std::int64_t groups = 1;
    Activation activation = Activation::kNone;
    double norm_eps = 1e-5;
    double norm_momentum = 0.1;
  };

  ConvNorm(std::int64_t in_channels, std::int64_t out_channels, const Options& options);

  /// [N, in, H, W] to [N, out, H', W'].
  at::Tensor forward(const at::Tensor& input) const;

  /// One image; makes `size` the output's.
  void count(ImageSize& size, LayerCosts& costs) const { conv_->count(size, costs); }

 private:
  std::shared_ptr<Conv2d> conv_;
  std::shared_ptr<BatchNorm2d> norm_;
  Activation activation_;
};

}  // namespace paceline::nn
