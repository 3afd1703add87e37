#include "paceline/models/ct_cascade/detail_head.h"

#include <vector>

namespace paceline::models {
namespace {

/// Each token's factors, spread over its patch without memory: [N * cubes^3, channels] to
/// [N, channels, cubes, 1, cubes, 1, cubes, 1].
at::Tensor by_patches(const at::Tensor& rows, std::int64_t cubes) {
  return rows.view({-1, cubes, cubes, cubes, rows.size(1)})
      .permute({0, 4, 1, 2, 3})
      .unsqueeze(3)
      .unsqueeze(5)
      .unsqueeze(7);
}

}  // namespace

DetailHead::DetailHead(std::int64_t num_channels, std::int64_t dim, std::int64_t patch)
    : patch_(patch) {
  conv1_ =
      register_module("conv1", std::make_shared<nn::Conv3d>(num_channels, kHidden, kKernelSize));
  modulation_ = register_module("modulation", std::make_shared<nn::Linear>(dim, 2 * kHidden));
  conv2_ = register_module("conv2", std::make_shared<nn::Conv3d>(kHidden, 1, kKernelSize));
}

at::Tensor DetailHead::forward(const at::Tensor& channels, const at::Tensor& rows) const {
  return run_with({channels, rows}, [this](const nn::UnitWrapper::Inputs& inputs) {
    const std::int64_t side = inputs[0].size(2);
    const std::int64_t cubes = side / patch_;
    const std::vector<at::Tensor> m =
        by_patches(modulation_->forward(inputs[1]), cubes).chunk(2, 1);
    const at::Tensor hidden =
        conv1_->forward(inputs[0]).view({-1, kHidden, cubes, patch_, cubes, patch_, cubes, patch_});
    const at::Tensor steered = hidden * (m[1] + 1) + m[0];
    return conv2_->forward(at::silu(steered.view({-1, kHidden, side, side, side}))).squeeze(1);
  });
}

void DetailHead::count(std::int64_t side, nn::LayerCosts& costs) const {
  const std::int64_t cubes = side / patch_;
  conv1_->count(side, costs);
  modulation_->count(cubes * cubes * cubes, costs);
  conv2_->count(side, costs);
}

}  // namespace paceline::models
