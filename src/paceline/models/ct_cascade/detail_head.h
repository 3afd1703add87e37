#pragma once

#include "paceline/nn/layer_costs.h"
#include "paceline/nn/linear.h"
#include "paceline/nn/unit.h"
#include "paceline/nn/volume/conv3d.h"

#include <cstdint>
#include <memory>

namespace paceline::models {

/// What lies between the voxels of a patch, for which its token has no room: two 3x3x3 convolutions
/// at each voxel of all that is known there, with SiLU between, where each token shifts and scales
/// the hidden channels of its patch (Perez et al., "FiLM: visual reasoning with a general
/// conditioning layer", 2018). Why: docs/decisions/0024. Names: conv1, modulation, conv2.
class DetailHead : public nn::Unit {
 public:
  static constexpr std::int64_t kHidden = 16;
  static constexpr std::int64_t kKernelSize = 3;

  /// Of tokens `dim` wide that stand for patch^3 voxels.
  DetailHead(std::int64_t num_channels, std::int64_t dim, std::int64_t patch);

  /// Channels [N, num_channels, side, side, side] and rows of tokens [N * (side / patch)^3, dim] to
  /// what is to be added [N, side, side, side]. Fastest with channels last in memory.
  at::Tensor forward(const at::Tensor& channels, const at::Tensor& rows) const;
  /// One volume.
  void count(std::int64_t side, nn::LayerCosts& costs) const;

 private:
  std::int64_t patch_;
  std::shared_ptr<nn::Conv3d> conv1_;
  std::shared_ptr<nn::Linear> modulation_;
  std::shared_ptr<nn::Conv3d> conv2_;
};

}  // namespace paceline::models
