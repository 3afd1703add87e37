#pragma once

#include "paceline/tensor/aten.h"

#include <cstdint>

namespace paceline::metrics {

inline constexpr std::int64_t kCalibrationBins = 15;

/// A batch's samples by how sure the network was of what it told: of each of kCalibrationBins equal
/// intervals of the largest probability (the upper end belongs to the next, 1 to the last) how many
/// there are, the sum of those probabilities, and how many are right: float64 [3, bins] beside the
/// probabilities, without waiting for a device. They add up. probabilities: [N, C]; labels as in
/// count_top_k().
at::Tensor calibration_sums(const at::Tensor& probabilities, const at::Tensor& labels);

/// The expected calibration error of these sums, in host memory: by how much accuracy and
/// confidence differ in a bin, on average over the samples. NaN without any.
/// Paper: Guo et al., "On calibration of modern neural networks", ICML 2017.
double expected_calibration_error(const at::Tensor& sums);

}  // namespace paceline::metrics
