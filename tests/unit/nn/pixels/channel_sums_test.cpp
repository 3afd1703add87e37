#include "paceline/nn/pixels/channel_sums.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

at::Tensor pixel_wave(const std::vector<std::int64_t>& sizes, double step) {
  return at::arange(c10::multiply_integers(sizes), at::kDouble).mul_(step).sin_().view(sizes);
}

/// Blocks of channels and stretches of pixels that are whole, begun, and none.
const std::vector<std::vector<std::int64_t>> kPixelShapes{
    {1, 1, 1}, {2, 64, 32}, {3, 65, 33}, {2, 130, 100}, {1, 5, 160}};

TEST(ChannelSums, AreThoseOfEachSample) {
  for (const std::vector<std::int64_t>& sizes : kPixelShapes) {
    SCOPED_TRACE(testing::PrintToString(sizes));
    const at::Tensor x = pixel_wave(sizes, 0.7);
    const at::Tensor other = pixel_wave(sizes, 1.3);
    for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16}) {
      const double tolerance = type == at::kDouble ? 1e-12 : type == at::kFloat ? 1e-5 : 0.3;
      const ChannelSums sums = channel_sums(x.to(type), other.to(type));
      EXPECT_EQ(sums.plain.scalar_type(), type == at::kDouble ? at::kDouble : at::kFloat);
      EXPECT_TRUE(at::allclose(sums.plain.to(at::kDouble), x.sum(1), tolerance, tolerance));
      EXPECT_TRUE(
          at::allclose(sums.products.to(at::kDouble), (x * other).sum(1), tolerance, tolerance));
    }
  }
}

TEST(ChannelSums, DoNotDependOnTheNumberOfThreads) {
  const at::Tensor x = pixel_wave({3, 1000, 70}, 0.7).to(at::kFloat);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor alone = channel_sums(x, x).products;
  at::set_num_threads(2);
  const at::Tensor together = channel_sums(x, x).products;
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(alone, together));
}

TEST(ScaleAndAdd, ScalesByChannelOfEachSample) {
  for (const std::vector<std::int64_t>& sizes : kPixelShapes) {
    SCOPED_TRACE(testing::PrintToString(sizes));
    const at::Tensor scale = pixel_wave({sizes[0], sizes[2]}, 0.3);
    const at::Tensor other_scale = pixel_wave({sizes[0], sizes[2]}, 0.9);
    const at::Tensor other = pixel_wave(sizes, 1.3);
    const at::Tensor wanted =
        pixel_wave(sizes, 0.7) * scale.unsqueeze(1) + other * other_scale.unsqueeze(1);
    for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16}) {
      const double tolerance = type == at::kDouble ? 1e-12 : type == at::kFloat ? 1e-6 : 2e-2;
      const at::ScalarType of_scales = type == at::kDouble ? type : at::kFloat;
      const at::Tensor x = pixel_wave(sizes, 0.7).to(type);
      scale_and_add(x, scale.to(of_scales), other.to(type), other_scale.to(of_scales));
      EXPECT_TRUE(at::allclose(x.to(at::kDouble), wanted, tolerance, tolerance));
    }
  }
}

}  // namespace
}  // namespace paceline::nn
