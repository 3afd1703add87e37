#pragma once

#include "paceline/tensor/fwd.h"

#include <cstdint>

namespace paceline::nn {

/// A convolution without dilation, its stride and padding the same both ways.
struct ConvolutionShape {
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t groups = 1;
};

/// Whether weight_gradient() is faster than LibTorch's: on the CPU, of float32 and channels-last,
/// where each channel is convolved alone, or where the kernel is one pixel and all is one group.
bool has_weight_gradient(const at::Tensor& input, const at::Tensor& weight,
                         const ConvolutionShape& shape);

/// The gradient of such a weight from that of the result; [N, C, H, W] both, `grad` in any layout.
/// Strides are the weight's. Of channels alone it does not depend on the number of threads; of one
/// pixel it is a matrix product of LibTorch's.
at::Tensor weight_gradient(const at::Tensor& grad, const at::Tensor& input,
                           const at::Tensor& weight, const ConvolutionShape& shape);

}  // namespace paceline::nn
