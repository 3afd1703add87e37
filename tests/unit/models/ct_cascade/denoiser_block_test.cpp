#include "paceline/models/ct_cascade/denoiser_block.h"

#include "paceline/nn/activation_checkpoint.h"
#include "unit/models/ct_cascade/block_inputs.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

std::shared_ptr<DenoiserBlock> plain_block() {
  auto block =
      std::make_shared<DenoiserBlock>(DenoiserBlockConfig{kBlockDim, kBlockHeads, FusedMode::kOff});
  fill_denoiser(*block);
  return block;
}

at::Tensor block_output(const DenoiserBlock& block, const std::vector<at::Tensor>& inputs) {
  return block.forward(inputs[0], inputs[1], inputs[2], kBlockShape);
}

TEST(DenoiserBlock, LeavesTokensAsTheyAreAtFirst) {
  const auto block = plain_block();
  for (const nn::NamedTensor& item : nn::named_parameters(*block)) {
    const at::NoGradGuard no_grad;
    if (item.name.starts_with("modulation")) item.tensor.zero_();
  }
  const auto inputs = block_inputs();
  EXPECT_TRUE(at::equal(block_output(*block, inputs), inputs[0]));
}

// Along one direction through all inputs and weights at once.
TEST(DenoiserBlock, GradientsAreWhatDifferencesSay) {
  const auto block = plain_block();
  std::vector<at::Tensor> leaves = block_inputs();
  const std::vector<at::Tensor> inputs = leaves;
  for (const nn::NamedTensor& item : nn::named_parameters(*block)) leaves.push_back(item.tensor);
  const auto loss = [&] { return block_output(*block, inputs).square().sum(); };
  loss().backward();
  std::vector<at::Tensor> ways;
  double along = 0;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    ways.push_back(denoiser_numbers(leaves[i].sizes().vec(), 3.0 + static_cast<double>(i)));
    along += (leaves[i].grad() * ways[i]).sum().item<double>();
    EXPECT_GT(leaves[i].grad().abs().max().item<double>(), 0) << i;
  }
  constexpr double kStep = 1e-6;
  const at::NoGradGuard no_grad;
  const auto move = [&](double length) {
    for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i].add_(ways[i], length);
  };
  move(kStep);
  const double ahead = loss().item<double>();
  move(-2 * kStep);
  const double behind = loss().item<double>();
  EXPECT_NEAR((ahead - behind) / (2 * kStep), along, 1e-6 * std::abs(along));
}

TEST(DenoiserBlock, SamplesKeepToThemselves) {
  const auto block = plain_block();
  const auto inputs = block_inputs();
  const at::Tensor all = block_output(*block, inputs);
  const at::Tensor last = block->forward(inputs[0].slice(0, 10), inputs[1].slice(0, 2),
                                         inputs[2].slice(0, 14), {1, 5, 7});
  EXPECT_TRUE(last.allclose(all.slice(0, 10), 1e-12, 1e-12));
}

TEST(DenoiserBlock, CheckpointsGiveTheSameGradients) {
  std::vector<std::vector<at::Tensor>> gradients;
  for (const bool checkpointed : {false, true}) {
    torch::nn::Module holder;
    const auto block = holder.register_module("block", plain_block());
    if (checkpointed) {
      EXPECT_EQ(nn::set_activation_checkpointing(holder, 1, nn::KeptResults::kMatmuls), 1);
    }
    const auto inputs = block_inputs();
    block_output(*block, inputs).square().sum().backward();
    std::vector<at::Tensor>& found = gradients.emplace_back();
    for (const at::Tensor& input : inputs) found.push_back(input.grad());
    for (const nn::NamedTensor& item : nn::named_parameters(*block))
      found.push_back(item.tensor.grad());
  }
  for (std::size_t i = 0; i < gradients[0].size(); ++i)
    EXPECT_TRUE(at::equal(gradients[0][i], gradients[1][i])) << i;
}

TEST(DenoiserBlock, CountsItsProducts) {
  nn::LayerCosts costs;
  plain_block()->count(5, 7, costs);
  const double dim = kBlockDim;
  EXPECT_EQ(costs.flops(), 2 * 9 * dim * dim + 2 * 5 * 14 * dim * dim + 4 * 5 * (5 + 7) * dim);
  nn::LayerCosts of_keys;
  XrayKeysValues(10, 4).count(3, of_keys);
  EXPECT_EQ(of_keys.flops(), 2.0 * 3 * 8 * 10);
}

}  // namespace
}  // namespace paceline::models
