#include "paceline/models/ct_cascade/shaped_denoiser.h"

#include "support/measured_pass.h"
#include "unit/models/ct_cascade/block_inputs.h"

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

VolumeDenoiserConfig told_denoiser(std::int64_t previous_side) {
  return {.encoder = {.num_views = 2, .xray_size = 64, .dim = 64},
          .geometry = {.fov_mm = 90},
          .side = 32,
          .previous_side = previous_side,
          .patch = 4,
          .dim = 48,
          .depth = 2,
          .num_heads = 2};
}

double measured_stage(const VolumeDenoiserConfig& config, std::int64_t samples) {
  VolumeDenoiser denoiser(config);
  fill_denoiser(denoiser, at::kFloat);
  test::take_gradients(denoiser);
  const std::int64_t side = config.previous_side;
  const nn::NoisyVolumes volumes{
      .noisy = at::zeros({samples, 32, 32, 32}),
      .steps = at::zeros({samples}, at::kLong),
      .previous = side > 0 ? at::zeros({samples, side, side, side}) : at::Tensor(),
      .levels = at::zeros({samples}, at::kDouble)};
  const at::Tensor xrays = at::zeros({samples, 2, 64, 64});
  return test::measured_peak(
      [&] { denoiser.denoise(volumes, denoiser.encode(xrays)).square().mean().backward(); });
}

double told_stage(const VolumeDenoiserConfig& config, std::int64_t samples) {
  nn::ShapedPass pass({.samples = samples});
  nn::Shaped loss;
  {
    const nn::Shaped made = shaped_denoiser(config, pass);
    loss = pass.pooled(pass.square(made), 1, made.width);
  }
  pass.end_forward();
  return static_cast<double>(pass.backward(loss));
}

TEST(ShapedDenoiser, TellsWhatAStageTakes) {
  for (const std::int64_t previous_side : {0, 16}) {
    for (const std::int64_t samples : {2, 3}) {  // LibTorch unfolds one small volume to convolve it
      const VolumeDenoiserConfig config = told_denoiser(previous_side);
      EXPECT_NEAR(told_stage(config, samples) / measured_stage(config, samples), 1.0, 0.1)
          << samples << " behind " << previous_side;
    }
  }
}

}  // namespace
}  // namespace paceline::models
