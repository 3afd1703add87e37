#pragma once

#include "paceline/tensor/aten.h"

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace paceline::nn {

/// How much of a sample is left after each of T steps that add noise: x_t = sqrt(a_t) x_0 + sqrt(1
/// - a_t) e with e normal, t from 0 to T - 1, a_t falling. The cosine schedule: f(i) = cos²((i / T
/// + s) / (1 + s) * π / 2), b_t = 1 - f(t + 1) / f(t) kept within [1e-4, 0.9999], and a_t the
/// product of all 1 - b up to t. Safe to share between threads. Paper: Nichol and Dhariwal,
/// "Improved denoising diffusion probabilistic models", 2021, 3.2.
class NoiseSchedule {
 public:
  /// Throws ConfigError for fewer than two steps.
  explicit NoiseSchedule(std::int64_t num_steps = 1000, double offset = 0.008);

  std::int64_t num_steps() const { return std::ssize(kept_); }
  /// a_t.
  double kept_at(std::int64_t step) const { return kept_.at(static_cast<std::size_t>(step)); }
  /// a_t of each of `steps` (int64 [N]), float64 [N, 1, ...] of `dims` dimensions, where they lie.
  at::Tensor kept_at(const at::Tensor& steps, std::int64_t dims) const;

 private:
  at::Tensor all_on(const at::Device& device) const;

  std::vector<double> kept_;
  mutable std::mutex mutex_;
  mutable at::Tensor placed_;  ///< where they were asked for last: a copy to a device is a wait
};

// What follows takes samples [N, ...] and their steps, int64 [N], and computes in the samples'
// dtype with factors rounded once from float64.

/// x_t of samples and noise.
at::Tensor add_noise(const NoiseSchedule& schedule, const at::Tensor& samples,
                     const at::Tensor& noise, const at::Tensor& steps);

/// v = sqrt(a_t) e - sqrt(1 - a_t) x_0. Paper: Salimans and Ho, "Progressive distillation for fast
/// sampling of diffusion models", ICLR 2022.
at::Tensor velocity(const NoiseSchedule& schedule, const at::Tensor& samples,
                    const at::Tensor& noise, const at::Tensor& steps);

/// The same of what a network takes samples to be: (sqrt(a_t) x_t - x_0) / sqrt(1 - a_t), as x_t
/// has both. A network whose output has fewer numbers than noise can tell x_0 and not v.
at::Tensor velocity_of_samples(const NoiseSchedule& schedule, const at::Tensor& noisy,
                               const at::Tensor& samples, const at::Tensor& steps);

/// What each sample's squared error of v counts, float64 [N]: min(SNR, gamma) / (SNR + 1) with SNR
/// = a_t / (1 - a_t), or 1 without gamma. Paper: Hang et al., "Efficient diffusion training via
/// min-SNR weighting strategy", ICCV 2023.
at::Tensor velocity_weights(const NoiseSchedule& schedule, const at::Tensor& steps,
                            std::optional<double> gamma);

}  // namespace paceline::nn
