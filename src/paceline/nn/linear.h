#pragma once

#include "paceline/nn/layer_costs.h"
#include "paceline/nn/matmul.h"
#include "paceline/tensor/torch.h"

#include <cstdint>
#include <memory>

namespace paceline::nn {

/// y = x weightᵀ + bias, torch.nn.Linear's names: `weight` [out, in] and, unless it is unwanted,
/// `bias` [out]. The weights start uninitialised. factorize() makes the weight two factors
/// (nn/factors/factors.h).
class Linear : public torch::nn::Module {
 public:
  Linear(std::int64_t in_features, std::int64_t out_features, bool has_bias = true);

  /// [..., in] to [..., out]. Two-dimensional input costs the fewest autograd nodes.
  at::Tensor forward(const at::Tensor& input) const {
    return linear(to_latent_ ? to_latent_->forward(input) : input, weight, bias);
  }
  /// Multiplies by two factors from now on: to_latent(), without bias, and `weight`. Both are
  /// without memory. Once.
  void factorize(std::int64_t latent);
  /// The first factor; null if there are none.
  const std::shared_ptr<Linear>& to_latent() const { return to_latent_; }

  /// Multiply-accumulate operations for one row, times two.
  double flops() const;

  /// Counts one row, a first factor for itself.
  void count(LayerCosts& costs) const;
  /// Counts so many rows of a sample.
  void count(std::int64_t rows, LayerCosts& costs) const;

  at::Tensor weight;
  at::Tensor bias;  ///< undefined if there is none

 private:
  double own_flops() const { return 2.0 * static_cast<double>(weight.numel()); }

  std::shared_ptr<Linear> to_latent_;
};

/// The layer below `layer` that has the first factor of its weight [out, in]: Linear(in, latent)
/// without bias and, like `weight`, which becomes the second factor [out, latent], without memory.
/// `layer` puts both in their places.
std::shared_ptr<Linear> split_weight(at::Tensor& weight, std::int64_t latent);

}  // namespace paceline::nn
