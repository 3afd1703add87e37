// How close volumes are, against scikit-image and MONAI; see make_volume_quality.py.

#include "paceline/metrics/volume_quality.h"

#include "paceline/tensor/aten.h"
#include "support/parity.h"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::metrics {
namespace {

using nlohmann::json;

void expect_skimage(const char* quantity, const at::Tensor& got, const json& wanted) {
  const auto values = wanted.get<std::vector<double>>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = got[static_cast<std::int64_t>(i)].item<double>();
    EXPECT_NEAR(value, values[i], 1e-10) << quantity;
    paceline::test::note_difference("volumes", quantity, std::abs(value - values[i]));
  }
}

/// PSNR, SSIM, which MONAI computes in float32, and the mean absolute error of each volume.
void expect_monai(const at::Tensor& volumes, const at::Tensor& truths, double range,
                  const json& wanted) {
  const at::Tensor got = at::stack({psnr(volumes, truths, range), ssim(volumes, truths, range),
                                    mean_absolute_error(volumes, truths)},
                                   1);
  for (std::size_t row = 0; row < wanted.size(); ++row) {
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(got[static_cast<std::int64_t>(row)][static_cast<std::int64_t>(i)].item<double>(),
                  wanted[row][i].get<double>(), i == 1 ? 1e-5 : 1e-10)
          << row << " " << i;
  }
}

TEST(GoldenVolumeQuality, IsSkimagesAndMonais) {
  const json golden =
      json::parse(std::ifstream(std::string(PACELINE_GOLDEN_DIR) + "/volume_quality.json"));
  const auto range = golden["range"].get<double>();
  for (const json& each : golden["cases"]) {
    const auto shape = each["shape"].get<std::vector<std::int64_t>>();
    const at::Tensor index = at::arange(c10::multiply_integers(shape), at::kDouble).view(shape);
    const at::Tensor truth = (0.05 * index).sin();
    const at::Tensor volumes =
        at::stack({truth + 0.3 * (1.7 * index).sin(), truth + 0.3 * (1.7 * index + 1).sin()});
    const at::Tensor truths = at::stack({truth, truth});
    expect_skimage("PSNR", psnr(volumes, truths, range), each["psnr"]);
    expect_skimage("SSIM", ssim(volumes, truths, range), each["ssim"]);
    expect_skimage("mean absolute error", mean_absolute_error(volumes, truths), each["error"]);
    ASSERT_EQ(each["monai"].size(), 2U);
    expect_monai(volumes, truths, range, each["monai"]);
  }
}

}  // namespace
}  // namespace paceline::metrics
