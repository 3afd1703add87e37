#pragma once

#include "paceline/nn/volume/cascade_network.h"
#include "paceline/tensor/torch.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace paceline::nn {

/// A cascade that takes x_0 for what it sees times one number, upon the volume of the stage before,
/// and moves it by what it knows of the X-rays.
class ScaledCascade final : public CascadeNetwork {
 public:
  explicit ScaledCascade(std::vector<std::int64_t> sides, double scale = 0.5,
                         volume::ProjectionGeometry geometry = {})
      : sides_(std::move(sides)), geometry_(std::move(geometry)) {
    const auto stages = register_module("stages", std::make_shared<torch::nn::Module>());
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      const auto stage =
          stages->register_module(std::to_string(i), std::make_shared<torch::nn::Module>());
      scales_.push_back(stage->register_parameter("scale", at::full({1}, scale)));
    }
  }

  std::int64_t num_stages() const override { return std::ssize(sides_); }
  CascadeStage stage(std::int64_t number) const override {
    const auto i = static_cast<std::size_t>(number);
    return {sides_.at(i), i == 0 ? 0 : sides_[i - 1]};
  }
  const volume::ProjectionGeometry& geometry() const override { return geometry_; }
  XrayContext encode(std::int64_t, const at::Tensor& xrays) const override {
    ++num_encoded;
    return {{}, xrays.flatten(1).mean(1).view({-1, 1}), {}};
  }
  at::Tensor denoise(std::int64_t stage, const NoisyVolumes& volumes,
                     const XrayContext& context) const override {
    seen_steps.push_back(volumes.steps.flatten()[0].item<std::int64_t>());
    at::Tensor made = volumes.noisy * scales_[static_cast<std::size_t>(stage)] +
                      context.condition.view({-1, 1, 1, 1});
    if (!volumes.previous.defined()) return made;
    const std::int64_t side = sides_[static_cast<std::size_t>(stage)];
    return made + at::upsample_trilinear3d(volumes.previous.unsqueeze(1), {side, side, side},
                                           /*align_corners=*/false)
                      .squeeze(1);
  }
  void initialize_parameter(const NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_sample(const SampleSizes&) const override { return 0; }

  mutable std::int64_t num_encoded = 0;
  mutable std::vector<std::int64_t> seen_steps;

 private:
  std::vector<std::int64_t> sides_;
  std::vector<at::Tensor> scales_;
  volume::ProjectionGeometry geometry_;
};

}  // namespace paceline::nn
