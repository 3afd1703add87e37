#pragma once

#include "paceline/tensor/aten.h"
#include "paceline/train/task.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace paceline::train {

/// How good volumes are, of each patient: float64 [N].
struct VolumeQuality {
  at::Tensor psnr;              ///< in dB, of the range of the window
  at::Tensor ssim;              ///< of three dimensions
  at::Tensor hu_mae;            ///< mean absolute error in Hounsfield units
  at::Tensor projection_error;  ///< of the volume's integrals against the X-rays', relative

  /// float64 [N, 4], in this order.
  at::Tensor rows() const;
};

/// The numbers that a batch adds to the metrics of volumes. Those of drawn volumes have a
/// denominator of their own, so that a training step, which draws none, shows none.
class VolumeSums {
 public:
  /// Of so many stages, with means of several samples or without. The last stage's are named
  /// "psnr", those of stage number i from 1 on "psnr_stage1", those of means "psnr_mean".
  VolumeSums(std::int64_t num_stages, bool has_means);

  std::span<const Metric> metrics() const { return metrics_; }
  /// The names of those of drawn volumes: of each stage, the last one first, the qualities of a
  /// sample and, with means, those of the mean.
  std::vector<std::string> quality_names() const;
  std::int64_t count() const { return count_; }

  /// float64 [count()] of a batch's parts of the loss, [N] each.
  at::Tensor of_loss(const at::Tensor& diffusion, const at::Tensor& physics) const;
  /// Adds what was drawn of a batch's patients.
  void add(std::int64_t stage, bool is_mean, const VolumeQuality& quality, at::Tensor& sums) const;

 private:
  std::int64_t first_of(std::int64_t stage, bool is_mean) const;

  std::int64_t num_stages_;
  std::int64_t count_ = 0;
  std::vector<Metric> metrics_;
};

}  // namespace paceline::train
