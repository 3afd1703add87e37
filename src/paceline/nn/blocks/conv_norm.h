#pragma once

#include "paceline/nn/activation.h"
#include "paceline/nn/blocks/conv_step.h"

#include <cstdint>
#include <memory>

namespace paceline::nn {

/// A convolution without bias, batch normalisation and an activation: torchvision's
/// Conv2dNormActivation, with its names (`0` and `1`) and its padding, which keeps an odd kernel's
/// output as large as the input, divided by the stride.
class ConvNorm : public torch::nn::Module, public FoldsNorms {
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
  /// That + added, which has the same shape.
  at::Tensor forward_add(const at::Tensor& input, const at::Tensor& added) const;

  /// One image; makes `size` the output's.
  void count(ImageSize& size, LayerCosts& costs) const { step_.conv->count(size, costs); }

  void fold_norms(at::ScalarType dtype) override { step_.fold(dtype); }

 private:
  ConvStep step_;
  Activation activation_;
};

}  // namespace paceline::nn
