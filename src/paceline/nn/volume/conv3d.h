#pragma once

#include "paceline/nn/layer_costs.h"
#include "paceline/tensor/torch.h"

#include <cstdint>

namespace paceline::nn {

/// A convolution of volumes with a cubic kernel of odd size that keeps their sizes, by
/// torch.nn.Conv3d's names. The weights start uninitialised.
class Conv3d : public torch::nn::Module {
 public:
  Conv3d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size)
      : padding_(kernel_size / 2) {
    weight = register_parameter(
        "weight", at::empty({out_channels, in_channels, kernel_size, kernel_size, kernel_size}));
    bias = register_parameter("bias", at::empty({out_channels}));
  }

  /// [N, in, D, H, W] to [N, out, D, H, W].
  at::Tensor forward(const at::Tensor& input) const {
    return at::conv3d(input, weight, bias, /*stride=*/1, padding_);
  }
  /// Counts a volume of so many voxels a side.
  void count(std::int64_t side, LayerCosts& costs) const {
    const std::int64_t voxels = side * side * side;
    costs.add(*this, 2.0 * static_cast<double>(weight.numel() * voxels),
              {weight.size(0), side, side, side});
  }

  at::Tensor weight;
  at::Tensor bias;

 private:
  std::int64_t padding_;
};

}  // namespace paceline::nn
