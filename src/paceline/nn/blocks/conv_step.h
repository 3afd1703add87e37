#pragma once

#include "paceline/nn/batch_norm.h"
#include "paceline/nn/blocks/folded_conv.h"
#include "paceline/nn/blocks/normed_activation.h"
#include "paceline/nn/conv.h"

#include <memory>

namespace paceline::nn {

/// A convolution and the batch normalisation behind it, wherever they are registered.
struct ConvStep {
  std::shared_ptr<Conv2d> conv = nullptr;
  std::shared_ptr<BatchNorm2d> norm = nullptr;
  std::shared_ptr<const FoldedConv> folded = nullptr;  ///< both as one, once they are folded

  /// activation(normed convolution).
  at::Tensor forward(const at::Tensor& input, Activation activation = Activation::kNone) const {
    if (!folded) return normed_activation(*norm, conv->forward(input), activation);
    return activation == Activation::kRelu ? folded->forward_relu(input)
                                           : activate(folded->forward(input), activation);
  }
  /// normed convolution + added.
  at::Tensor forward_add(const at::Tensor& input, const at::Tensor& added) const {
    if (folded) return folded->forward(input) + added;
    return normed_activation(*norm, conv->forward(input), Activation::kNone, added);
  }
  /// max(0, normed convolution + added).
  at::Tensor forward_add_relu(const at::Tensor& input, const at::Tensor& added) const {
    if (folded) return folded->forward_add_relu(input, added);
    return normed_activation(*norm, conv->forward(input), Activation::kRelu, added);
  }

  /// As FoldsNorms. What is computed otherwise than by one convolution stays as it is.
  void fold(at::ScalarType dtype) {
    if (conv->is_plain()) folded = std::make_shared<const FoldedConv>(*conv, *norm, dtype);
  }
};

}  // namespace paceline::nn
