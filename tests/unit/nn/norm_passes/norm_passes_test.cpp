#include "paceline/nn/norm_passes/norm_passes.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

at::Tensor passes_wave(const std::vector<std::int64_t>& sizes, double step) {
  return at::arange(c10::multiply_integers(sizes), at::kDouble)
      .mul_(step)
      .sin_()
      .view(sizes)
      .to(at::kFloat)
      .contiguous(at::MemoryFormat::ChannelsLast);
}

/// One row, rows that fill groups, stretches and chunks or not, channels that fill vectors or not.
const std::vector<std::vector<std::int64_t>> kPassesShapes{
    {1, 5, 1, 1}, {3, 16, 7, 9}, {2, 33, 30, 31}, {1, 2500, 3, 3}, {2, 72, 50, 50}};

at::Tensor per_channel(const std::vector<double>& values) {
  return at::tensor(values, at::kDouble);
}

TEST(BatchMoments, AreThoseOfEachChannel) {
  for (const std::vector<std::int64_t>& sizes : kPassesShapes) {
    SCOPED_TRACE(testing::PrintToString(sizes));
    const at::Tensor images = passes_wave(sizes, 0.7) + 100.0;
    const BatchMoments moments = batch_moments(images);
    const at::Tensor exact = images.to(at::kDouble).transpose(0, 1).flatten(1);
    EXPECT_TRUE(at::allclose(per_channel(moments.means), exact.mean(1), 1e-7, 0.0));
    EXPECT_TRUE(at::allclose(per_channel(moments.variances), exact.var(1, false), 1e-5, 1e-9));
  }
}

TEST(NormaliseImages, ScalesShiftsAddsAndActivates) {
  for (const std::vector<std::int64_t>& sizes : kPassesShapes) {
    const at::Tensor images = passes_wave(sizes, 0.7);
    const at::Tensor other = passes_wave(sizes, 1.3);
    const at::Tensor factors =
        passes_wave({kNormFactors, sizes[1], 1, 1}, 0.3).flatten(1).contiguous();
    const at::Tensor plain =
        images * factors[kNormScale].view({1, -1, 1, 1}) + factors[kNormShift].view({1, -1, 1, 1});
    for (const Activation activation :
         {Activation::kNone, Activation::kRelu, Activation::kSilu, Activation::kHardswish}) {
      EXPECT_TRUE(at::allclose(normalise_images(images, factors, activation, {}),
                               activate(plain, activation), 1e-5, 1e-6));
      EXPECT_TRUE(at::allclose(normalise_images(images, factors, activation, other),
                               activate(plain + other, activation), 1e-5, 1e-6));
    }
  }
}

TEST(NormaliseImages, SiluHasItsLimits) {
  const float infinite = std::numeric_limits<float>::infinity();
  const at::Tensor images =
      at::tensor({-infinite, -200.0f, -90.0f, 0.0f, 120.0f, infinite}).view({1, 6, 1, 1});
  const at::Tensor factors = at::ones({kNormFactors, 6});
  factors[kNormShift].zero_();
  const at::Tensor output = normalise_images(images, factors, Activation::kSilu, {}).flatten();
  const at::Tensor wanted = at::silu(images).flatten();
  EXPECT_TRUE(at::allclose(output, wanted, 1e-6, 1e-30, /*equal_nan=*/true)) << output << wanted;
}

}  // namespace
}  // namespace paceline::nn
