#include "paceline/metrics/calibration.h"

#include "paceline/base/error.h"

#include <cmath>
#include <tuple>

namespace paceline::metrics {

at::Tensor calibration_sums(const at::Tensor& probabilities, const at::Tensor& labels) {
  const at::NoGradGuard no_grad;
  const auto [confidence, told] = probabilities.max(1);
  const at::Tensor counts = labels.ge(0).to(at::kDouble);
  const at::Tensor bounds = at::linspace(0, 1, kCalibrationBins + 1, confidence.options());
  const at::Tensor bins = at::bucketize(confidence, bounds, /*out_int32=*/false, /*right=*/true)
                              .sub_(1)
                              .clamp_(0, kCalibrationBins - 1);
  const auto summed = [&](const at::Tensor& values) {
    return at::zeros({kCalibrationBins}, counts.options()).index_add_(0, bins, values);
  };
  return at::stack({summed(counts), summed(counts * confidence.to(at::kDouble)),
                    summed(counts * told.eq(labels).to(at::kDouble))});
}

double expected_calibration_error(const at::Tensor& sums) {
  PACELINE_CHECK(sums.is_cpu() && sums.dim() == 2 && sums.size(0) == 3 && sums.is_contiguous(),
                 "sums must be [3, bins] in host memory");
  const auto* const counts = sums.const_data_ptr<double>();
  const auto* const confidences = counts + sums.size(1);
  const auto* const correct = confidences + sums.size(1);
  double error = 0;
  double num_samples = 0;
  for (std::int64_t bin = 0; bin < sums.size(1); ++bin) {
    error += std::abs(correct[bin] - confidences[bin]);
    num_samples += counts[bin];
  }
  return error / num_samples;
}

}  // namespace paceline::metrics
