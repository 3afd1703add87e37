#include "paceline/nn/diffusion/noise_schedule.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace paceline::nn {
namespace {

/// sqrt(a_t) and sqrt(1 - a_t), shaped for samples such as these.
struct NoiseShares {
  at::Tensor of_samples;
  at::Tensor of_noise;
};

NoiseShares shares_at(const NoiseSchedule& schedule, const at::Tensor& steps,
                      const at::Tensor& samples) {
  const at::Tensor kept = schedule.kept_at(steps, samples.dim());
  return {kept.sqrt().to(samples.scalar_type()), (1 - kept).sqrt().to(samples.scalar_type())};
}

}  // namespace

NoiseSchedule::NoiseSchedule(std::int64_t num_steps, double offset) {
  constexpr double kLeast = 1e-4;
  constexpr double kMost = 0.9999;
  if (num_steps < 2)
    throw base::ConfigError(fmt::format("a diffusion has at least 2 steps, got {}", num_steps));
  const auto left = [&](std::int64_t step) {
    const double share = static_cast<double>(step) / static_cast<double>(num_steps);
    const double root = std::cos((share + offset) / (1 + offset) * std::numbers::pi / 2);
    return root * root;
  };
  double product = 1;
  for (std::int64_t step = 0; step < num_steps; ++step) {
    product *= 1 - std::clamp(1 - left(step + 1) / left(step), kLeast, kMost);
    kept_.push_back(product);
  }
}

at::Tensor NoiseSchedule::all_on(const at::Device& device) const {
  const std::lock_guard lock(mutex_);
  if (!placed_.defined() || placed_.device() != device)
    placed_ = at::tensor(kept_, at::kDouble).to(device);
  return placed_;
}

at::Tensor NoiseSchedule::kept_at(const at::Tensor& steps, std::int64_t dims) const {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(dims), 1);
  sizes.front() = steps.size(0);
  return all_on(steps.device()).index_select(0, steps).view(sizes);
}

at::Tensor add_noise(const NoiseSchedule& schedule, const at::Tensor& samples,
                     const at::Tensor& noise, const at::Tensor& steps) {
  const auto [of_samples, of_noise] = shares_at(schedule, steps, samples);
  return of_samples * samples + of_noise * noise;
}

at::Tensor velocity(const NoiseSchedule& schedule, const at::Tensor& samples,
                    const at::Tensor& noise, const at::Tensor& steps) {
  const auto [of_samples, of_noise] = shares_at(schedule, steps, samples);
  return of_samples * noise - of_noise * samples;
}

at::Tensor velocity_of_samples(const NoiseSchedule& schedule, const at::Tensor& noisy,
                               const at::Tensor& samples, const at::Tensor& steps) {
  const auto [of_samples, of_noise] = shares_at(schedule, steps, samples);
  return (of_samples * noisy - samples) / of_noise;
}

at::Tensor velocity_weights(const NoiseSchedule& schedule, const at::Tensor& steps,
                            std::optional<double> gamma) {
  const at::Tensor kept = schedule.kept_at(steps, 1);
  if (!gamma) return at::ones_like(kept);
  const at::Tensor ratio = kept / (1 - kept);
  return ratio.clamp_max(*gamma) / (ratio + 1);
}

}  // namespace paceline::nn
