#pragma once

#include "paceline/nn/batch_norm.h"
#include "paceline/nn/conv.h"

#include <memory>

namespace paceline::models {

/// A convolution and the batch normalisation behind it, wherever they are registered.
struct ConvStep {
  std::shared_ptr<nn::Conv2d> conv = nullptr;
  std::shared_ptr<nn::BatchNorm2d> norm = nullptr;

  at::Tensor forward(const at::Tensor& input) const { return norm->forward(conv->forward(input)); }
};

}  // namespace paceline::models
