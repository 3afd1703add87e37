#include "paceline/metrics/calibration.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::metrics {
namespace {

TEST(Calibration, IsHowFarConfidenceIsFromAccuracy) {
  const at::Tensor probabilities =
      at::tensor({0.9, 0.1, 0.9, 0.1, 0.4, 0.6, 0.0, 1.0}).view({4, 2});
  const at::Tensor labels = at::tensor({0, 1, 1, 1}, at::kLong);
  const at::Tensor sums = calibration_sums(probabilities, labels);
  EXPECT_NEAR(expected_calibration_error(sums), (std::abs(1 - 1.8) + 0.4 + 0) / 4, 1e-7);
}

TEST(Calibration, SumsAddUpAndLeavePaddingOut) {
  const at::Tensor probabilities = at::tensor({0.9, 0.1, 0.3, 0.7}).view({2, 2});
  const at::Tensor labels = at::tensor({1, -100}, at::kLong);
  const at::Tensor sums = calibration_sums(probabilities, labels);
  EXPECT_EQ(sums[0].sum().item<double>(), 1);
  EXPECT_NEAR(expected_calibration_error(sums + sums), 0.9, 1e-7);
  EXPECT_TRUE(std::isnan(expected_calibration_error(at::zeros_like(sums))));
}

TEST(Calibration, CertaintyLiesInTheLastBin) {
  const at::Tensor sums = calibration_sums(at::eye(2), at::tensor({0, 1}, at::kLong));
  EXPECT_EQ(sums[0][kCalibrationBins - 1].item<double>(), 2);
}

}  // namespace
}  // namespace paceline::metrics
