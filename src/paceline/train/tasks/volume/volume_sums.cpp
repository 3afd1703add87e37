#include "paceline/train/tasks/volume/volume_sums.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace paceline::train {
namespace {

enum LossSum : std::int64_t { kDiffusion, kPhysics, kNumLossSums };

/// What is summed of drawn volumes, in the order of VolumeQuality; the number of patients follows.
constexpr std::array<std::string_view, 4> kQualities{"psnr", "ssim", "hu_mae", "projection_error"};
constexpr auto kNumQualities = static_cast<std::int64_t>(kQualities.size());
constexpr std::int64_t kGroup = kNumQualities + 1;

}  // namespace

at::Tensor VolumeQuality::rows() const {
  return at::stack({psnr, ssim, hu_mae, projection_error}, 1).to(at::kDouble);
}

VolumeSums::VolumeSums(std::int64_t num_stages, bool has_means) : num_stages_(num_stages) {
  // The last stage first: what a run looks at unless told otherwise is its PSNR.
  for (std::int64_t stage = num_stages - 1; stage >= 0; --stage) {
    for (const bool is_mean : {false, true}) {
      if (is_mean && !has_means) continue;
      const std::string where = stage == num_stages - 1 ? "" : fmt::format("_stage{}", stage + 1);
      const std::int64_t first = first_of(stage, is_mean);
      for (std::int64_t i = 0; i < kNumQualities; ++i) {
        metrics_.push_back({fmt::format("{}{}{}", kQualities.at(static_cast<std::size_t>(i)),
                                        is_mean ? "_mean" : "", where),
                            first + i, first + kNumQualities});
      }
    }
  }
  metrics_.push_back({"diffusion", kDiffusion});
  metrics_.push_back({"physics", kPhysics});
  count_ = kNumLossSums + 2 * num_stages * kGroup;
}

std::vector<std::string> VolumeSums::quality_names() const {
  std::vector<std::string> names;
  for (const Metric& metric : metrics_)
    if (metric.denominator != Metric::kSamples) names.push_back(metric.name);
  return names;
}

std::int64_t VolumeSums::first_of(std::int64_t stage, bool is_mean) const {
  return kNumLossSums + (2 * stage + (is_mean ? 1 : 0)) * kGroup;
}

at::Tensor VolumeSums::of_loss(const at::Tensor& diffusion, const at::Tensor& physics) const {
  const at::Tensor sums = at::zeros({count_}, diffusion.options().dtype(at::kDouble));
  sums.narrow(0, kDiffusion, 1).copy_(diffusion.detach().sum(0, /*keepdim=*/true, at::kDouble));
  sums.narrow(0, kPhysics, 1).copy_(physics.detach().sum(0, /*keepdim=*/true, at::kDouble));
  return sums;
}

void VolumeSums::add(std::int64_t stage, bool is_mean, const VolumeQuality& quality,
                     at::Tensor& sums) const {
  const at::Tensor rows = quality.rows();
  const at::Tensor counted = at::ones({rows.size(0), 1}, rows.options());
  sums.narrow(0, first_of(stage, is_mean), kGroup).add_(at::cat({rows, counted}, 1).sum(0));
}

}  // namespace paceline::train
