#include "paceline/models/ct_cascade/shaped_block.h"

#include "paceline/tensor/autocast.h"
#include "support/measured_pass.h"
#include "unit/models/ct_cascade/block_inputs.h"

#include <optional>

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

constexpr DenoiserShape kManyTokens{.batch = 2, .tokens = 512, .xray_tokens = 256};
constexpr std::int64_t kWidth = 64;

double measured_block(const DenoiserBlockConfig& config, bool is_half) {
  DenoiserBlock block(config);
  fill_denoiser(block, at::kFloat);
  test::take_gradients(block);
  const auto narrow = is_half ? at::kBFloat16 : at::kFloat;
  const auto input = [](std::vector<std::int64_t> sizes, at::ScalarType dtype) {
    return denoiser_numbers(std::move(sizes), 0, dtype).set_requires_grad(true);
  };
  const at::Tensor x = input({2 * 512, kWidth}, at::kFloat);
  const at::Tensor condition = input({2, kWidth}, narrow);
  const at::Tensor keys_values = input({2 * 256, 2 * kWidth}, narrow);
  const std::vector<at::Tensor> inputs{x, condition, keys_values};
  return test::measured_peak([&] {
    at::Tensor made;
    {
      const tensor::AutocastGuard autocast(at::kCPU,
                                           is_half ? std::optional(at::kBFloat16) : std::nullopt);
      made = block.forward(x, condition, keys_values, kManyTokens);
    }
    const auto grads = torch::autograd::grad({made}, inputs, {at::ones_like(made)});
  });
}

double told_block(const DenoiserBlockConfig& config, bool is_half) {
  nn::ShapedPass pass(
      {.samples = 2, .autocast = is_half ? std::optional<std::int64_t>(2) : std::nullopt});
  const auto leaf = [&](std::int64_t values, std::int64_t width) {
    return pass.tape().leaf({values, width});
  };
  const std::int64_t narrow = pass.matmul_width();
  const nn::Shaped made = shaped_block(
      config, kManyTokens,
      {leaf(2 * 512 * kWidth, 4), leaf(2 * kWidth, narrow), leaf(2 * 256 * 2 * kWidth, narrow)},
      pass);
  pass.end_forward();
  pass.tape().backward(made, pass.take(made.values, made.width), 0);
  return static_cast<double>(pass.tape().peak());
}

TEST(ShapedBlock, TellsWhatABlockTakes) {
  for (const FusedMode fused : {FusedMode::kOn, FusedMode::kOff}) {
    for (const bool is_half : {false, true}) {
      const DenoiserBlockConfig config{kWidth, 4, fused};
      EXPECT_NEAR(told_block(config, is_half) / measured_block(config, is_half), 1.0, 0.1)
          << (fused == FusedMode::kOn ? "fused " : "by operations ") << is_half;
    }
  }
}

}  // namespace
}  // namespace paceline::models
