#pragma once

#include "paceline/nn/batch_norm.h"
#include "paceline/nn/blocks/folded_conv.h"
#include "paceline/nn/conv.h"

#include <memory>

namespace paceline::nn {

/// A convolution and the batch normalisation behind it, wherever they are registered.
struct ConvStep {
  std::shared_ptr<Conv2d> conv = nullptr;
  std::shared_ptr<BatchNorm2d> norm = nullptr;
  std::shared_ptr<const FoldedConv> folded = nullptr;  ///< both as one, once they are folded

  at::Tensor forward(const at::Tensor& input) const {
    return folded ? folded->forward(input) : norm->forward(conv->forward(input));
  }
  at::Tensor forward_relu(const at::Tensor& input) const {
    if (folded) return folded->forward_relu(input);
    at::Tensor output = forward(input);
    return at::relu_(output);
  }

  /// As FoldsNorms. What is computed otherwise than by one convolution stays as it is.
  void fold(at::ScalarType dtype) {
    if (conv->is_plain()) folded = std::make_shared<const FoldedConv>(*conv, *norm, dtype);
  }
};

}  // namespace paceline::nn
