#pragma once

#include "paceline/nn/network.h"

#include <cstdint>

namespace paceline::nn {

/// The volumes of the previous stage as the next one is shown them.
struct NoisyCondition {
  at::Tensor volumes;  ///< with noise
  at::Tensor levels;   ///< the noise's standard deviation for each sample, float64 [N]
};

/// Volumes [N, side, side, side] with noise of a level that is drawn for each, uniformly from 0 to
/// `max_level`, so that a stage that learns from true volumes learns to mistrust and mend what it
/// will get of the stage before. Noise is added at these volumes' own resolution and nothing is
/// scaled: brightness stays, and the next stage's tokens, which see few of these voxels each, can
/// take the noise off again. Drawn as nn/diffusion/sample_draws.h says. Paper: Ho et al., "Cascaded
/// diffusion models for high fidelity image generation", 2022, 4.2.
NoisyCondition augment_condition(const at::Tensor& volumes, double max_level,
                                 const ForwardContext& context);

/// The same with one level for all, as samples are drawn; `index` tells several samples for the
/// same X-rays apart.
NoisyCondition condition_at_level(const at::Tensor& volumes, double level,
                                  const ForwardContext& context, std::uint64_t index = 0);

}  // namespace paceline::nn
