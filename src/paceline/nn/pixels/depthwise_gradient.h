#pragma once

#include "paceline/nn/pixels/depthwise_sums.h"
#include "paceline/tensor/fwd.h"

#include <utility>

namespace paceline::nn {

/// The gradients of weight [C, 1, K, K] and bias [C] of a depthwise convolution, whose kernel
/// has_sums(), from that of its result, [N, H', W', C], and its input, [N, H, W, C]. Several times
/// as fast as LibTorch's on the CPU; the sums are float32's at least and do not depend on the
/// number of threads.
std::pair<at::Tensor, at::Tensor> depthwise_gradients(const at::Tensor& grad,
                                                      const at::Tensor& input,
                                                      const DepthwiseKernel& kernel = {});

}  // namespace paceline::nn
