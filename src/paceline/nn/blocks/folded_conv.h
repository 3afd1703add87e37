#pragma once

#include "paceline/nn/batch_norm.h"
#include "paceline/nn/conv.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace paceline::nn {

/// A convolution and the batch normalisation behind it, by its running statistics, as one
/// convolution on the CPU, with what follows them in the same pass over the output. For inference:
/// it is no part of autograd, and holds weights of its own.
///
/// Its numbers are those of the two layers but for rounding: the scale is in the weights before
/// these are rounded to `dtype`.
class FoldedConv {
 public:
  /// In float32 or bfloat16, as autocast would compute. The convolution is plain.
  FoldedConv(const Conv2d& conv, const BatchNorm2d& norm, at::ScalarType dtype);

  at::Tensor forward(const at::Tensor& input) const { return run(input, "none"); }
  at::Tensor forward_relu(const at::Tensor& input) const { return run(input, "relu"); }
  /// max(0, output + added).
  at::Tensor forward_add_relu(const at::Tensor& input, const at::Tensor& added) const;

 private:
  at::Tensor run(const at::Tensor& input, std::string_view activation) const;

  std::array<std::int64_t, 2> stride_;
  std::array<std::int64_t, 2> padding_;
  std::int64_t groups_;
  at::Tensor weight_;
  at::Tensor bias_;
};

/// A module that has convolutions with batch normalisations behind them.
class FoldsNorms {
 public:
  virtual ~FoldsNorms() = default;
  /// Computes them as one from now on. The module trains no more.
  virtual void fold_norms(at::ScalarType dtype) = 0;
};

/// Folds what can be folded below `module`, whose parameters are whole and on the CPU and whose
/// statistics do not change any more. Returns how many modules that were.
int fold_norms(torch::nn::Module& module, at::ScalarType dtype);

}  // namespace paceline::nn
