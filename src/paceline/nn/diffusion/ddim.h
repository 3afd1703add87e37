#pragma once

#include "paceline/nn/diffusion/noise_schedule.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace paceline::nn {

/// At which steps of a diffusion a sampler stops, from the last down.
enum class StepSpacing {
  kTrailing,  ///< T - 1, and from there down at equal distances: round(T - i T / n) - 1
  kLinspace,  ///< from T - 1 to 0, rounded to the nearest
};

/// `count` steps, falling. Throws ConfigError unless 1 <= count <= the schedule's.
/// Source: Lin et al., "Common diffusion noise schedules and sample steps are flawed", WACV 2024,
/// section 3.3, for trailing.
std::vector<std::int64_t> sampling_steps(const NoiseSchedule& schedule, std::int64_t count,
                                         StepSpacing spacing);

/// From x_t to x_before, before < t (-1: to the sample itself), by what the network takes the
/// sample to be: DDIM without noise (eta 0). `samples` are cut off to [-limit, limit] and the noise
/// is what x_t has beside that. Paper: Song et al., "Denoising diffusion implicit models", ICLR
/// 2021, with the cut-off of diffusers' use_clipped_model_output.
at::Tensor ddim_step(const NoiseSchedule& schedule, const at::Tensor& noisy,
                     const at::Tensor& samples, std::int64_t step, std::int64_t before,
                     double limit = 1.0);

/// What a network takes samples to be: x_t and t to x_0.
using Denoise = std::function<at::Tensor(const at::Tensor& noisy, std::int64_t step)>;

/// From noise to samples by ddim_step() at these steps; the last one gives the network's own
/// answer, cut off.
at::Tensor sample_ddim(const NoiseSchedule& schedule, at::Tensor noise,
                       const std::vector<std::int64_t>& steps, const Denoise& denoise,
                       double limit = 1.0);

}  // namespace paceline::nn
