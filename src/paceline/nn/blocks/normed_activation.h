#pragma once

#include "paceline/nn/activation.h"
#include "paceline/nn/batch_norm.h"

namespace paceline::nn {

/// activation(norm.forward(input) + added); an undefined `added` is nothing. [N, C, H, W] each.
///
/// In training on the CPU, in float32 and channels-last, by the batch's own statistics, it is one
/// autograd node: fewer passes over what is large, and nothing kept for backward but the input, a
/// few numbers per channel and, where something was added, the result. Elsewhere, and for other
/// activations than kNone, kRelu, kSilu and kHardswish, it is normed_activation_by_operations().
at::Tensor normed_activation(const BatchNorm2d& norm, const at::Tensor& input,
                             Activation activation, const at::Tensor& added = {});

/// The same by LibTorch's operations, one by one.
at::Tensor normed_activation_by_operations(const BatchNorm2d& norm, const at::Tensor& input,
                                           Activation activation, const at::Tensor& added = {});

}  // namespace paceline::nn
