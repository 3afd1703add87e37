#include "paceline/parallel/batch_norm/global_moments.h"

#include "paceline/base/error.h"
#include "paceline/tensor/torch.h"

#include <cstdint>

namespace paceline::parallel {
namespace {

/// [mean, sum of squared deviations, count] of this rank's values: [2 * C + 1], float64.
at::Tensor local_moments(const at::Tensor& input, const nn::BatchNorm2d& norm) {
  const std::int64_t channels = input.size(1);
  const auto options = input.options().dtype(at::kDouble);
  if (input.numel() == 0) return at::zeros({2 * channels + 1}, options);
  // Running statistics are what tells the kernel the dtype to compute in, so it gets some to move.
  const auto [mean, variance] = at::batch_norm_update_stats(
      input, at::zeros_like(norm.running_mean), at::zeros_like(norm.running_var), /*momentum=*/1.0);
  const at::Tensor count = at::full({1}, input.numel() / channels, options);
  return at::cat({mean.to(at::kDouble), variance.to(at::kDouble) * count, count});
}

/// Merges moments [world_size, 2 * C + 1], in rank order. The formula is that of Chan, Golub and
/// LeVeque (1983) for any number of sets: the deviations within each and those of their means.
GlobalMoments merge(const at::Tensor& moments) {
  const std::int64_t channels = moments.size(1) / 2;
  const at::Tensor means = moments.narrow(1, 0, channels);
  const at::Tensor counts = moments.narrow(1, 2 * channels, 1);
  const at::Tensor count = counts.sum();
  const at::Tensor mean = means.mul(counts).sum(0).div_(count);
  const at::Tensor deviations =
      (means - mean).square_().mul_(counts).add_(moments.narrow(1, channels, channels)).sum(0);
  return {mean, deviations, count};
}

}  // namespace

std::optional<GlobalMoments> global_moments(const at::Tensor& input, const nn::BatchNorm2d& norm,
                                            comm::Communicator& communicator,
                                            std::string_view label) {
  const at::NoGradGuard no_grad;
  const at::Tensor own = local_moments(input, norm);
  at::Tensor all = own.unsqueeze(0);
  if (communicator.world_size() > 1) {
    all = at::empty({communicator.world_size(), own.numel()}, own.options());
    communicator.all_gather(all, own, label)->wait();
  }
  // Read only where it may be too small: on a GPU reading waits for the stream.
  const double count = input.numel() <= input.size(1) ? all.select(1, -1).sum().item<double>() : 2;
  if (count == 0) return std::nullopt;
  if (count == 1) {
    throw base::ConfigError(
        "BatchNorm over all ranks in training mode needs more than one value per channel over the "
        "ranks that share statistics: use more images per rank, larger images, or freeze the "
        "statistics");
  }
  return merge(all);
}

at::Tensor normalise_by(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                        const at::Tensor& mean, const at::Tensor& variance, double eps) {
  if (input.numel() == 0) return at::empty_like(input);
  return std::get<0>(at::native_batch_norm(input, weight, bias, mean, variance,
                                           /*training=*/false, /*momentum=*/0.0, eps));
}

}  // namespace paceline::parallel
