#include "paceline/algorithms/stochastic_depth/stochastic_depth.h"

#include "golden/algorithms/golden_values.h"
#include "paceline/models/resnet/resnet.h"
#include "paceline/nn/module_tree.h"
#include "support/small_net.h"

#include <array>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// What Composer's StochasticDepth drops and computes: make_stochastic_depth.py.

namespace paceline::algorithms {
namespace {

using models::ResidualBlock;
using models::ResNetBlock;
using nlohmann::json;
using paceline::test::wave;

constexpr double kDepthTolerance = 1e-10;
constexpr std::int64_t kDepthSamples = 4;

nn::DropPath& drop_path_of(const torch::nn::Module& block) {
  return *block.named_children()["drop_path"]->as<nn::DropPath>();
}

/// Three bottlenecks in a row, with the file's weights.
class ThreeBlocks : public torch::nn::Module {
 public:
  ThreeBlocks() {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const bool is_first = i == 0;
      blocks[i] = register_module(std::to_string(i),
                                  std::make_shared<ResidualBlock>(
                                      models::ResidualBlockConfig{.block = ResNetBlock::kBottleneck,
                                                                  .in_channels = is_first ? 4 : 8,
                                                                  .width = 2,
                                                                  .out_channels = 8,
                                                                  .stride = is_first ? 2 : 1},
                                      i));
    }
    nn::set_dtype(*this, at::kDouble);
    const at::NoGradGuard no_grad;
    int phase = 0;
    for (const nn::NamedTensor& parameter : nn::named_parameters(*this))
      parameter.tensor.copy_(wave(parameter.tensor.sizes(), phase++));
  }

  at::Tensor forward(const at::Tensor& input, std::int64_t step) const {
    at::Tensor output = input;
    for (const auto& block : blocks) output = block->forward(output, {.step = step});
    return output;
  }

  std::array<std::shared_ptr<ResidualBlock>, 3> blocks;
};

void expect_depth(const at::Tensor& got, const json& wanted, const char* what) {
  expect_golden_values("stochastic_depth", what, got, wanted, kDepthTolerance);
}

/// A step in which our draws are the file's.
std::int64_t step_that_keeps(const ThreeBlocks& blocks, const json& kept) {
  constexpr std::int64_t kMostSteps = 200'000;
  for (std::int64_t step = 0; step < kMostSteps; ++step) {
    bool is_same = true;
    for (std::size_t i = 0; is_same && i < kept.size(); ++i) {
      const at::Tensor mask =
          drop_path_of(*blocks.blocks[i]).factors(at::kFloat, kDepthSamples, {.step = step});
      for (std::int64_t sample = 0; sample < kDepthSamples; ++sample)
        is_same = is_same && mask[sample].item<float>() == kept[i][sample].get<float>();
    }
    if (is_same) return step;
  }
  ADD_FAILURE() << "no step draws " << kept;
  return 0;
}

/// Has the blocks drop what the file says, and returns in which step.
std::int64_t set_drops(const ThreeBlocks& blocks, const json& each) {
  const bool is_block = each["method"] == "block";
  for (std::size_t i = 0; i < blocks.blocks.size(); ++i) {
    const double rate = !is_block ? 0.5 : each["kept"][i] == 0 ? 1.0 : 0.0;
    drop_path_of(*blocks.blocks[i])
        .set_rule({.rate = rate, .group = is_block ? 0 : 1, .scales_in_evaluation = true});
  }
  return is_block ? 0 : step_that_keeps(blocks, each["kept"]);
}

TEST(GoldenStochasticDepth, StepsAreComposers) {
  for (const json& each : golden_list("stochastic_depth.json", "steps")) {
    SCOPED_TRACE(each["method"].dump() + each["kept"].dump());
    ThreeBlocks blocks;
    const std::int64_t step = set_drops(blocks, each);
    const at::Tensor x = wave({kDepthSamples, 4, 6, 5}, 1).requires_grad_();
    const at::Tensor output = blocks.forward(x, step);
    (output * wave(output.sizes(), 5)).sum().backward();
    expect_depth(output, each["output"], "output");
    expect_depth(x.grad(), each["grad_input"], "gradient of the input");
    for (const nn::NamedTensor& parameter : nn::named_parameters(blocks)) {
      SCOPED_TRACE(parameter.name);
      ASSERT_TRUE(parameter.tensor.grad().defined());
      expect_depth(parameter.tensor.grad(), each["grads"].at(parameter.name),
                   "gradients of the parameters");
    }
    const auto buffers = blocks.named_buffers();
    for (const auto& [name, values] : each["buffers"].items()) {
      SCOPED_TRACE(name);
      expect_depth(buffers[name], values, "running statistics");
    }
  }
}

TEST(GoldenStochasticDepth, EvaluationsAreComposers) {
  const json wanted =
      json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/stochastic_depth.json"))["evaluation"];
  ThreeBlocks network;
  set_drop_rules(residual_blocks(network), {}, wanted["drop_rate"]);
  network.eval();
  const at::NoGradGuard no_grad;
  const at::Tensor x = wave({kDepthSamples, 4, 6, 5}, 1);
  expect_depth(network.forward(x, 0), wanted["output"], "output in evaluation");
  nn::set_dtype(network, at::kFloat);  // norms are folded into no other
  for (const auto& block : network.blocks) block->fold_norms(at::kFloat);
  const at::Tensor folded = network.forward(x.to(at::kFloat), 0);
  expect_golden_values("stochastic_depth", "output in evaluation, norms folded, float32", folded,
                       wanted["output"], 1e-5);
}

TEST(GoldenStochasticDepth, RatesAreComposers) {
  constexpr double kOfFloat = 1e-7;  // Composer keeps rates in float32
  for (const json& each : golden_list("stochastic_depth.json", "rates")) {
    const models::ResNet network({.layers = {3, 4, 6, 3}, .block = ResNetBlock::kBottleneck});
    const auto blocks = residual_blocks(network);
    set_drop_rules(blocks,
                   {.distribution = each["distribution"] == "linear" ? DropDistribution::kLinear
                                                                     : DropDistribution::kUniform},
                   each["drop_rate"]);
    ASSERT_EQ(blocks.size(), each["names"].size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ(blocks[i].block, each["names"][i]);
      paceline::test::expect_reference("stochastic_depth", "rates of blocks",
                                       blocks[i].drop_paths.front()->rule().rate, each["rates"][i],
                                       kOfFloat);
    }
  }
}

}  // namespace
}  // namespace paceline::algorithms
