#pragma once

#include "paceline/nn/layer_costs.h"
#include "paceline/nn/matmul.h"
#include "paceline/tensor/torch.h"

#include <cstdint>

namespace paceline::nn {

/// y = x weightᵀ + bias, torch.nn.Linear's names: `weight` [out, in] and, unless it is unwanted,
/// `bias` [out]. The weights start uninitialised.
class Linear : public torch::nn::Module {
 public:
  Linear(std::int64_t in_features, std::int64_t out_features, bool has_bias = true);

  /// [..., in] to [..., out]. Two-dimensional input costs the fewest autograd nodes.
  at::Tensor forward(const at::Tensor& input) const { return linear(input, weight, bias); }

  /// Multiply-accumulate operations for one row, times two.
  double flops() const { return 2.0 * static_cast<double>(weight.numel()); }

  /// Counts one row.
  void count(LayerCosts& costs) const { costs.add(*this, flops(), {weight.size(0)}); }
  /// Counts so many rows of a sample.
  void count(std::int64_t rows, LayerCosts& costs) const {
    costs.add(*this, static_cast<double>(rows) * flops(), {rows, weight.size(0)});
  }

  at::Tensor weight;
  at::Tensor bias;  ///< undefined if there is none
};

}  // namespace paceline::nn
