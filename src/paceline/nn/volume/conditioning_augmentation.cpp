#include "paceline/nn/volume/conditioning_augmentation.h"

#include "paceline/nn/diffusion/sample_draws.h"

namespace paceline::nn {
namespace {

NoisyCondition with_noise(const at::Tensor& volumes, const at::Tensor& levels,
                          const ForwardContext& context, std::uint64_t index) {
  const at::Tensor noise = drawn_normals(volumes, DiffusionDraw::kConditionNoise, context, index);
  return {volumes + noise * levels.to(volumes.scalar_type()).view({-1, 1, 1, 1}), levels};
}

}  // namespace

NoisyCondition augment_condition(const at::Tensor& volumes, double max_level,
                                 const ForwardContext& context) {
  const at::Tensor levels =
      drawn_uniforms(volumes, DiffusionDraw::kConditionLevel, context) * max_level;
  return with_noise(volumes, levels, context, /*index=*/0);
}

NoisyCondition condition_at_level(const at::Tensor& volumes, double level,
                                  const ForwardContext& context, std::uint64_t index) {
  const at::Tensor levels =
      at::full({volumes.size(0)}, level, volumes.options().dtype(at::kDouble).requires_grad(false));
  return with_noise(volumes, levels, context, index);
}

}  // namespace paceline::nn
