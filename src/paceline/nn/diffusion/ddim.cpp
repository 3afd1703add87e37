#include "paceline/nn/diffusion/ddim.h"

#include "paceline/base/error.h"

#include <cmath>
#include <utility>

namespace paceline::nn {

std::vector<std::int64_t> sampling_steps(const NoiseSchedule& schedule, std::int64_t count,
                                         StepSpacing spacing) {
  const std::int64_t total = schedule.num_steps();
  if (count < 1 || count > total) {
    throw base::ConfigError(fmt::format(
        "{} sampling steps of a diffusion that has {}: give 1 to {}", count, total, total));
  }
  std::vector<std::int64_t> steps;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto share = static_cast<double>(i);
    if (spacing == StepSpacing::kTrailing) {
      const double distance = static_cast<double>(total) / static_cast<double>(count);
      steps.push_back(std::llrint(static_cast<double>(total) - share * distance) - 1);
    } else {
      const double distance =
          count == 1 ? 0 : static_cast<double>(total - 1) / static_cast<double>(count - 1);
      steps.push_back(std::llrint(static_cast<double>(total - 1) - share * distance));
    }
  }
  return steps;
}

at::Tensor ddim_step(const NoiseSchedule& schedule, const at::Tensor& noisy,
                     const at::Tensor& samples, std::int64_t step, std::int64_t before,
                     double limit) {
  const double kept = schedule.kept_at(step);
  const at::Tensor cut = samples.clamp(-limit, limit);
  if (before < 0) return cut;
  const double kept_before = schedule.kept_at(before);
  const at::Tensor noise = (noisy - std::sqrt(kept) * cut) / std::sqrt(1 - kept);
  return std::sqrt(kept_before) * cut + std::sqrt(1 - kept_before) * noise;
}

at::Tensor sample_ddim(const NoiseSchedule& schedule, at::Tensor noise,
                       const std::vector<std::int64_t>& steps, const Denoise& denoise,
                       double limit) {
  at::Tensor noisy = std::move(noise);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::int64_t before = i + 1 < steps.size() ? steps[i + 1] : -1;
    noisy = ddim_step(schedule, noisy, denoise(noisy, steps[i]), steps[i], before, limit);
  }
  return noisy;
}

}  // namespace paceline::nn
