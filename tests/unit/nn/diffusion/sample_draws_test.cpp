#include "paceline/nn/diffusion/sample_draws.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

at::Tensor draw_uniforms(std::int64_t count, DiffusionDraw draw, const ForwardContext& context) {
  return drawn_uniforms(at::empty({count, 2}), draw, context);
}

at::Tensor draw_noise(std::int64_t count, const ForwardContext& context, std::uint64_t index = 0) {
  return drawn_normals(at::empty({count, 3, 40}), DiffusionDraw::kNoise, context, index);
}

TEST(SampleDraws, BelongToASampleWhateverSharesItsBatch) {
  const at::Tensor whole = draw_noise(5, {7, 3, 100});
  const at::Tensor parts = at::cat({draw_noise(2, {7, 3, 100}), draw_noise(3, {7, 3, 102})});
  EXPECT_TRUE(at::equal(whole, parts));
  const at::Tensor uniforms = draw_uniforms(5, DiffusionDraw::kStep, {7, 3, 100});
  EXPECT_TRUE(at::equal(uniforms, at::cat({draw_uniforms(4, DiffusionDraw::kStep, {7, 3, 100}),
                                           draw_uniforms(1, DiffusionDraw::kStep, {7, 3, 104})})));
}

TEST(SampleDraws, DifferBySeedStepPositionPurposeAndIndex) {
  const at::Tensor noise = draw_noise(1, {7, 3, 100});
  std::vector<at::Tensor> others{draw_noise(1, {8, 3, 100}), draw_noise(1, {7, 4, 100}),
                                 draw_noise(1, {7, 3, 101}), draw_noise(1, {7, 3, 100}, 1)};
  others.push_back(
      drawn_normals(at::empty({1, 3, 40}), DiffusionDraw::kConditionNoise, {7, 3, 100}));
  others.push_back(noise);
  for (std::size_t i = 0; i < others.size(); ++i) {
    for (std::size_t j = i + 1; j < others.size(); ++j) {
      const at::Tensor product = (others[i] * others[j]).mean();
      EXPECT_LT(std::abs(product.item<double>()), 0.4) << i << ' ' << j;  // 1 if they are the same
    }
  }
  EXPECT_FALSE(at::equal(draw_uniforms(2, DiffusionDraw::kStep, {7, 3, 100}),
                         draw_uniforms(2, DiffusionDraw::kConditionLevel, {7, 3, 100})));
}

TEST(SampleDraws, AreNormalAndUniform) {
  const at::Tensor noise = drawn_normals(at::empty({4, 50000}), DiffusionDraw::kNoise, {1, 2, 3});
  EXPECT_NEAR(noise.mean().item<double>(), 0, 0.02);
  EXPECT_NEAR(noise.std().item<double>(), 1, 0.02);
  const at::Tensor uniforms = draw_uniforms(20000, DiffusionDraw::kStep, {1, 2, 3});
  EXPECT_NEAR(uniforms.mean().item<double>(), 0.5, 0.02);
  EXPECT_GE(uniforms.min().item<double>(), 0);
  EXPECT_LT(uniforms.max().item<double>(), 1);
}

TEST(SampleDraws, HaveTheSamplesTypeAndNoGradient) {
  const at::Tensor samples = at::zeros({2, 3}, at::kDouble).set_requires_grad(true);
  const at::Tensor noise = drawn_normals(samples, DiffusionDraw::kNoise, {1, 2, 3});
  EXPECT_EQ(noise.scalar_type(), at::kDouble);
  EXPECT_FALSE(noise.requires_grad());
}

}  // namespace
}  // namespace paceline::nn
