#pragma once

#include "paceline/nn/diffusion/ddim.h"
#include "paceline/nn/volume/cascade_network.h"

#include <cstdint>
#include <vector>

namespace paceline::nn {

/// How volumes are drawn.
struct CascadeSampling {
  std::int64_t steps = 50;  ///< of each stage
  StepSpacing spacing = StepSpacing::kTrailing;
  double level = 0.0;  ///< of the noise that a stage sees on the volumes of the one before
  /// In units of the data: samples are cut off to [-limit, limit] at each step.
  double limit = 1.0;
};

/// What each stage knows of the same patients.
struct CascadeContexts {
  std::vector<XrayContext> of_stages;
  at::TensorOptions options;  ///< of the X-rays, and of what is sampled
  std::int64_t num_patients = 0;
};

/// Of X-rays [N, views, H, W], for all stages, steps and samples.
CascadeContexts encode_for_cascade(const CascadeNetwork& network, const at::Tensor& xrays);

/// Which noise samples are made of: a function of the seed, the position of a patient and the
/// number of the sample, and the same whatever step the weights are of.
struct CascadeDraw {
  std::uint64_t seed = 0;
  std::int64_t first_position = 0;  ///< of the first patient
  std::int64_t sample = 0;          ///< which of several for the same patient
};

/// A volume of each patient by each stage, [N, side, side, side]: a stage starts from noise and
/// what the stage before has made of the same draw. Without gradients.
std::vector<at::Tensor> sample_cascade(const CascadeNetwork& network,
                                       const CascadeContexts& contexts,
                                       const NoiseSchedule& schedule,
                                       const CascadeSampling& sampling, const CascadeDraw& draw);

}  // namespace paceline::nn
