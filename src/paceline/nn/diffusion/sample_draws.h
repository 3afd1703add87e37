#pragma once

#include "paceline/nn/network.h"

#include <cstdint>

namespace paceline::nn {

/// What a diffusion draws for a sample. The numbers are part of reproducibility: never reuse or
/// reorder them.
enum class DiffusionDraw : std::uint64_t {
  kNoise = 1,           ///< what is added to the sample, or what sampling begins with
  kStep = 2,            ///< at which step it is trained
  kConditionNoise = 3,  ///< what is added to what it is conditioned on
  kConditionLevel = 4,  ///< how much of that
};

// Each sample's draws depend on seed, step and its position, context.first_position + i, alone, and
// on `index`, which tells several samples for the same position apart: on any ranks and in any
// microbatches they are the same, and no two ranks draw the same.

/// Normal values like `samples`, whose first dimension are samples, drawn where they lie.
at::Tensor drawn_normals(const at::Tensor& samples, DiffusionDraw draw,
                         const ForwardContext& context, std::uint64_t index = 0);

/// Uniform in [0, 1), of each sample one, float64 [count], drawn where they lie.
at::Tensor drawn_uniforms(const at::Tensor& samples, DiffusionDraw draw,
                          const ForwardContext& context, std::uint64_t index = 0);

}  // namespace paceline::nn
