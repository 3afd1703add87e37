#include "paceline/metrics/volume_quality.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

at::Tensor quality_volumes(std::int64_t side) {
  return at::arange(2 * side * side * side, at::kDouble).mul(0.3).sin().view({2, side, side, side});
}

TEST(VolumeQuality, EqualVolumesAreAsCloseAsCanBe) {
  const at::Tensor volumes = quality_volumes(12);
  EXPECT_TRUE(psnr(volumes, volumes, 2).isinf().all().item<bool>());
  EXPECT_TRUE(ssim(volumes, volumes, 2).allclose(at::ones({2}, at::kDouble)));
  EXPECT_TRUE(mean_absolute_error(volumes, volumes).equal(at::zeros({2}, at::kDouble)));
}

TEST(VolumeQuality, PsnrIsOfTheRange) {
  const at::Tensor truth = at::zeros({2, 3, 3, 3});
  const at::Tensor volumes = at::stack({at::full({3, 3, 3}, 0.2F), at::full({3, 3, 3}, 0.02F)});
  EXPECT_TRUE(psnr(volumes, truth, 2).allclose(at::tensor({20.0, 40.0}, at::kDouble), 1e-5));
  EXPECT_TRUE(
      psnr(volumes, truth, 1).allclose(at::tensor({20.0, 40.0}, at::kDouble) - 6.0206, 1e-5))
      << "half the range is 6 dB less";
}

TEST(VolumeQuality, EachVolumeCountsForItself) {
  const at::Tensor truth = quality_volumes(11);
  const at::Tensor volumes = truth.flip(1) * 0.5;
  for (const auto& measure : {psnr, ssim}) {
    const at::Tensor both = measure(volumes, truth, 2);
    for (std::int64_t i = 0; i < 2; ++i) {
      EXPECT_DOUBLE_EQ(
          both[i].item<double>(),
          measure(volumes.slice(0, i, i + 1), truth.slice(0, i, i + 1), 2).item<double>());
    }
  }
}

TEST(VolumeQuality, HalfPrecisionIsMeasuredInFloat64) {
  const at::Tensor truth = quality_volumes(11);
  const at::Tensor volumes = (truth * 0.9).to(at::kBFloat16);
  EXPECT_TRUE(ssim(volumes, truth, 2).equal(ssim(volumes.to(at::kDouble), truth, 2)));
  EXPECT_EQ(psnr(volumes, truth, 2).scalar_type(), at::kDouble);
}

TEST(VolumeQuality, RefusesWindowsThatDoNotFit) {
  const at::Tensor small = quality_volumes(10);
  EXPECT_THAT([&] { ssim(small, small, 2); },
              ThrowsMessage<base::ConfigError>(HasSubstr("SSIM looks at 11 voxels along each axis, "
                                                         "and these volumes have 10")));
  EXPECT_THROW(psnr(small, quality_volumes(11), 2), base::InternalError);
}

}  // namespace
}  // namespace paceline::metrics
