#pragma once

#include "paceline/tensor/torch.h"

#include <cstdint>

namespace paceline::nn {

/// Pixels of an image or a feature map.
struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

/// Two-dimensional convolution with a square kernel, torch.nn.Conv2d's names: `weight`
/// [out, in, kernel, kernel] and, if asked for, `bias` [out]. The weights start uninitialised.
class Conv2d : public torch::nn::Module {
 public:
  struct Options {
    std::int64_t stride = 1;
    std::int64_t padding = 0;
    bool bias = false;
  };

  Conv2d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size,
         const Options& options);

  /// [N, in, H, W] to [N, out, H', W']; contiguous or channels-last, as the input is.
  at::Tensor forward(const at::Tensor& input) const;

  ImageSize output_size(const ImageSize& input) const;
  /// Multiply-accumulate operations for one image, times two.
  double flops(const ImageSize& input) const;

  at::Tensor weight;
  at::Tensor bias;  ///< undefined without Options::bias

 private:
  std::int64_t kernel_size_;
  Options options_;
};

}  // namespace paceline::nn
