#pragma once

#include "paceline/nn/conv.h"
#include "paceline/nn/layer_costs.h"
#include "paceline/nn/unit.h"
#include "paceline/nn/volume/group_norm.h"

#include <cstdint>
#include <memory>

namespace paceline::nn {

/// Spreads a view's features over the depth of a cube: each pixel's value, a projection of its
/// feature, times the weights of so many layers, which add up to their number, so that even weights
/// leave the value. It is what a 1x1x1 convolution to one channel makes of the outer product of
/// features and depth weights, which would be dim times as large. Names: hidden (3x3, to dim / 4),
/// norm (8 groups), depths (1x1), value (1x1).
class DepthLift : public Unit {
 public:
  /// `dim` is a multiple of 32.
  DepthLift(std::int64_t dim, std::int64_t num_layers);

  /// Features [N, dim, h, w] to values [N, layers, h, w], for ViewLookup::voxels().
  at::Tensor forward(const at::Tensor& features) const;
  /// One view.
  void count(const ImageSize& features, LayerCosts& costs) const;

 private:
  std::int64_t num_layers_;
  std::shared_ptr<Conv2d> hidden_;
  std::shared_ptr<GroupNorm> norm_;
  std::shared_ptr<Conv2d> depths_;
  std::shared_ptr<Conv2d> value_;
};

}  // namespace paceline::nn
