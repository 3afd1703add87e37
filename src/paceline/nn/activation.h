#pragma once

#include "paceline/tensor/fwd.h"

namespace paceline::nn {

/// A function of each element that layers are built with.
enum class Activation {
  kNone,         ///< x
  kRelu,         ///< max(x, 0)
  kHardsigmoid,  ///< x / 6 + 1/2, clipped to [0, 1]
  kHardswish,    ///< x hardsigmoid(x); Howard et al., "Searching for MobileNetV3", 2019
  kSigmoid,      ///< 1 / (1 + exp(-x))
  kSilu,         ///< x sigmoid(x), "swish"
};

at::Tensor activate(const at::Tensor& input, Activation activation);

}  // namespace paceline::nn
