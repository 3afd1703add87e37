#include "paceline/metrics/volume_quality.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <algorithm>
#include <array>

namespace paceline::metrics {
namespace {

constexpr std::int64_t kWindow = 11;
constexpr double kDeviation = 1.5;

void check_sizes(const at::Tensor& volumes, const at::Tensor& truth) {
  PACELINE_CHECK(volumes.dim() == 4 && volumes.sizes() == truth.sizes(),
                 "volumes [N, D, H, W] of {} dimensions are compared with {}", volumes.dim(),
                 truth.dim());
}

at::Tensor mean_of_each(const at::Tensor& values) { return values.mean({1, 2, 3}); }

/// Means of all windows that lie inside; [N, D, H, W] to less by kWindow - 1 along each axis.
at::Tensor window_means(const at::Tensor& values) {
  const at::Tensor places = at::arange(kWindow, values.options()) - kWindow / 2;
  const at::Tensor bell = (-places.square() / (2 * kDeviation * kDeviation)).exp();
  const at::Tensor weights = bell / bell.sum();
  at::Tensor means = values.unsqueeze(1);
  for (std::int64_t axis = 2; axis < 5; ++axis) {
    std::array<std::int64_t, 5> sizes{1, 1, 1, 1, 1};
    sizes.at(static_cast<std::size_t>(axis)) = kWindow;
    means = at::conv3d(means, weights.view(sizes));
  }
  return means.squeeze(1);
}

}  // namespace

at::Tensor psnr(const at::Tensor& volumes, const at::Tensor& truth, double range) {
  check_sizes(volumes, truth);
  const at::Tensor error = mean_of_each((volumes.to(at::kDouble) - truth.to(at::kDouble)).square());
  return 10 * (range * range / error).log10();
}

at::Tensor ssim(const at::Tensor& volumes, const at::Tensor& truth, double range) {
  check_sizes(volumes, truth);
  const std::int64_t least = std::ranges::min(truth.sizes().slice(1));
  if (least < kWindow) {
    throw base::ConfigError(
        fmt::format("SSIM looks at {} voxels along each axis, and these volumes have {}: measure "
                    "larger volumes, or no SSIM",
                    kWindow, least));
  }
  const double c1 = 0.01 * range * 0.01 * range;
  const double c2 = 0.03 * range * 0.03 * range;
  const at::Tensor x = volumes.to(at::kDouble);
  const at::Tensor y = truth.to(at::kDouble);
  const at::Tensor mean_x = window_means(x);
  const at::Tensor mean_y = window_means(y);
  const at::Tensor variance_x = window_means(x * x) - mean_x * mean_x;
  const at::Tensor variance_y = window_means(y * y) - mean_y * mean_y;
  const at::Tensor covariance = window_means(x * y) - mean_x * mean_y;
  const at::Tensor map =
      (2 * mean_x * mean_y + c1) * (2 * covariance + c2) /
      ((mean_x.square() + mean_y.square() + c1) * (variance_x + variance_y + c2));
  return mean_of_each(map);
}

at::Tensor mean_absolute_error(const at::Tensor& volumes, const at::Tensor& truth) {
  check_sizes(volumes, truth);
  return mean_of_each((volumes.to(at::kDouble) - truth.to(at::kDouble)).abs());
}

}  // namespace paceline::metrics
