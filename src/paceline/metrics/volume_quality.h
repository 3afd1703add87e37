#pragma once

#include "paceline/tensor/fwd.h"

namespace paceline::metrics {

// How close volumes [N, D, H, W] come to true ones: a number for each, float64 [N], computed in
// float64 on the device that they are on. `range` is how far apart the least and the largest value
// can be, such as 2 of [-1, 1]: of another range PSNR and SSIM are other numbers.

/// Peak signal to noise ratio in dB: 10 log10(range² / mean squared error); infinite of equal ones.
at::Tensor psnr(const at::Tensor& volumes, const at::Tensor& truth, double range);

/// Structural similarity of three dimensions: the mean of its map over all places around which a
/// Gaussian window of 11 voxels a side and deviation 1.5 lies inside, with K1 0.01, K2 0.03 and the
/// covariance of a population; scikit-image's with gaussian_weights, MONAI's. Throws ConfigError
/// for sides below 11. Paper: Wang et al., "Image quality assessment", IEEE TIP 13(4), 2004.
at::Tensor ssim(const at::Tensor& volumes, const at::Tensor& truth, double range);

/// The mean absolute difference.
at::Tensor mean_absolute_error(const at::Tensor& volumes, const at::Tensor& truth);

}  // namespace paceline::metrics
