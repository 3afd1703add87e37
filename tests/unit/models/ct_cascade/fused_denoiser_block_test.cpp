#include "paceline/models/ct_cascade/fused_denoiser_block.h"

#include "paceline/base/error.h"
#include "paceline/tensor/autocast.h"
#include "unit/models/ct_cascade/block_inputs.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

struct DenoiserStep {
  at::Tensor output;
  std::vector<at::Tensor> gradients;  ///< of the inputs and the parameters
  std::string node;
};

struct DenoiserTypes {
  at::ScalarType stored = at::kFloat;
  std::optional<at::ScalarType> autocast = {};
  at::ScalarType given = stored;  ///< of condition, keys and values
};

DenoiserStep denoiser_step(FusedMode fused, const DenoiserTypes& types) {
  DenoiserBlock block({kBlockDim, kBlockHeads, fused});
  fill_denoiser(block, types.stored);
  auto inputs = block_inputs(types.stored);
  for (std::size_t i : {1U, 2U})
    inputs[i] = inputs[i].detach().to(types.given).set_requires_grad(true);
  DenoiserStep step;
  {
    const tensor::AutocastGuard autocast(at::kCPU, types.autocast);
    step.output = block.forward(inputs[0], inputs[1], inputs[2], kBlockShape);
  }
  step.node = step.output.grad_fn()->name();
  const at::Tensor weights = denoiser_numbers({15, kBlockDim}, 9).to(types.stored);
  (step.output * weights).to(at::kDouble).sum().backward();
  for (const at::Tensor& input : inputs) step.gradients.push_back(input.grad());
  for (const nn::NamedTensor& item : nn::named_parameters(block))
    step.gradients.push_back(item.tensor.grad());
  return step;
}

double denoiser_distance(const at::Tensor& got, const at::Tensor& wanted) {
  EXPECT_EQ(got.scalar_type(), wanted.scalar_type());
  EXPECT_EQ(got.sizes(), wanted.sizes());
  const at::Tensor exact = wanted.to(at::kDouble);
  return ((got.to(at::kDouble) - exact).abs().max() / exact.abs().max()).item<double>();
}

void expect_equal_blocks(const DenoiserTypes& types, double tolerance) {
  const DenoiserStep fused = denoiser_step(FusedMode::kOn, types);
  const DenoiserStep plain = denoiser_step(FusedMode::kOff, types);
  EXPECT_NE(fused.node, plain.node);
  EXPECT_LE(denoiser_distance(fused.output, plain.output), tolerance);
  ASSERT_EQ(fused.gradients.size(), plain.gradients.size());
  for (std::size_t i = 0; i < plain.gradients.size(); ++i) {
    EXPECT_LE(denoiser_distance(fused.gradients[i], plain.gradients[i]), tolerance) << i;
    EXPECT_GT(plain.gradients[i].abs().max().item<double>(), 0) << i;
  }
}

TEST(FusedDenoiserBlock, EqualsItsTwinInFloat64) { expect_equal_blocks({at::kDouble}, 1e-10); }

TEST(FusedDenoiserBlock, EqualsItsTwinInFloat32) { expect_equal_blocks({at::kFloat}, 1e-6); }

TEST(FusedDenoiserBlock, EqualsItsTwinUnderAutocast) {
  expect_equal_blocks({at::kFloat, at::kBFloat16, at::kBFloat16}, 2e-2);
  expect_equal_blocks({at::kFloat, at::kHalf, at::kHalf}, 4e-3);
  expect_equal_blocks({at::kFloat, at::kBFloat16, at::kFloat}, 2e-2);
}

TEST(FusedDenoiserBlock, EqualsItsTwinInBfloat16) { expect_equal_blocks({at::kBFloat16}, 4e-2); }

TEST(FusedDenoiserBlock, IsUsedUnlessItIsSwitchedOff) {
  const std::string fused = denoiser_step(FusedMode::kOn, {}).node;
  EXPECT_EQ(denoiser_step(FusedMode::kAuto, {}).node, fused);
  EXPECT_EQ(denoiser_step(FusedMode::kAuto, {at::kFloat, at::kBFloat16, at::kBFloat16}).node,
            fused);
  EXPECT_NE(denoiser_step(FusedMode::kOff, {}).node, fused);
}

TEST(FusedDenoiserBlock, GivesWayWhereTypesDiffer) {
  const DenoiserTypes types{at::kFloat, at::kBFloat16, at::kHalf};
  EXPECT_THROW(denoiser_step(FusedMode::kOn, types), base::ConfigError);
  EXPECT_EQ(denoiser_step(FusedMode::kAuto, types).node,
            denoiser_step(FusedMode::kOff, types).node);
}

TEST(FusedDenoiserBlock, FrozenWeightsAndGivenKeysGetNoGradients) {
  DenoiserBlock block({kBlockDim, kBlockHeads, FusedMode::kOn});
  fill_denoiser(block, at::kFloat);
  auto inputs = block_inputs(at::kFloat);
  inputs[2] = inputs[2].detach();
  for (const nn::NamedTensor& item : nn::named_parameters(block))
    if (item.name.starts_with("mlp")) item.tensor.set_requires_grad(false);
  block.forward(inputs[0], inputs[1], inputs[2], kBlockShape).sum().backward();
  for (const nn::NamedTensor& item : nn::named_parameters(block))
    EXPECT_EQ(item.tensor.grad().defined(), !item.name.starts_with("mlp")) << item.name;
  EXPECT_TRUE(inputs[0].grad().defined());
}

}  // namespace
}  // namespace paceline::models
