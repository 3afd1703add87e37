#pragma once

#include "paceline/tensor/fwd.h"

#include <utility>

namespace paceline::nn {

/// The gradients of weight [C, 1, 7, 7] and bias [C] of a depthwise convolution with padding 3,
/// from that of its result and its input, [N, H, W, C] each. Several times as fast as LibTorch's on
/// the CPU; the sums are float32's at least and do not depend on the number of threads.
std::pair<at::Tensor, at::Tensor> depthwise_gradients(const at::Tensor& grad,
                                                      const at::Tensor& input);

}  // namespace paceline::nn
