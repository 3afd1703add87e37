#include "paceline/models/convnext/fused_block.h"

#include "paceline/base/error.h"
#include "paceline/models/convnext/convnext.h"
#include "paceline/tensor/draws.h"
#include "unit/models/fused_expectations.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

ConvNextConfig small_convnext() {
  return {.num_classes = 7, .depths = {1, 2, 1, 1}, .dims = {8, 12, 20, 40}};
}

/// Blocks of all kinds; `fused` is set by the test.
std::map<std::string, ConvNextConfig> kinds_of_convnexts() {
  std::map<std::string, ConvNextConfig> kinds;
  ConvNextConfig& plain = kinds["plain"] = small_convnext();
  plain.ls_init_value = std::nullopt;
  kinds["scaled"] = small_convnext();
  kinds["scaled"].ls_init_value = 0.3;
  kinds["path drops"] = plain;
  kinds["path drops"].drop_path_rate = 0.6;
  kinds["scaled, path drops"] = kinds["scaled"];
  kinds["scaled, path drops"].drop_path_rate = 0.6;
  kinds["response norm"] = plain;
  kinds["response norm"].use_grn = true;
  kinds["response norm, convolutions"] = kinds["response norm"];
  kinds["response norm, convolutions"].conv_mlp = true;
  kinds["all there is"] = kinds["scaled, path drops"];
  kinds["all there is"].use_grn = kinds["all there is"].conv_mlp = true;
  return kinds;
}

/// One step; weights are large enough for every gradient to matter, and there are as many images
/// that no path of the last block is dropped for all of them.
StepResult convnext_step(ConvNextConfig config, FusedMode fused, const StepTypes& types) {
  config.fused = fused;
  ConvNext network(config);
  network.initialize(11);
  {
    const at::NoGradGuard no_grad;
    std::uint64_t index = 0;
    for (const nn::NamedTensor& item : nn::named_parameters(network)) {
      if (item.tensor.dim() > 1) item.tensor.mul_(8.0);
      if (item.name.find("grn") != std::string::npos)
        tensor::fill_normal(item.tensor, 0.0, 0.5, {.seed = 2, .index = index++});
    }
  }
  nn::set_dtype(network, types.stored);
  return run_step(network, {8, 3, 64, 32}, types);
}

void expect_equal_convnexts(const StepTypes& types, double tolerance) {
  for (const auto& [name, config] : kinds_of_convnexts()) {
    SCOPED_TRACE(name);
    const StepResult fused = convnext_step(config, FusedMode::kOn, types);
    const StepResult plain = convnext_step(config, FusedMode::kOff, types);
    if (types.stored == at::kDouble) {
      expect_equal_steps(fused, plain, tolerance);
    } else {
      const StepResult exact = convnext_step(config, FusedMode::kOff, {at::kDouble});
      expect_equal_steps_but_for_rounding(fused, plain, exact, tolerance);
    }
  }
}

TEST(FusedConvNextBlock, EqualsItsTwinInFloat64) { expect_equal_convnexts({at::kDouble}, 1e-12); }

TEST(FusedConvNextBlock, EqualsItsTwinInFloat32) { expect_equal_convnexts({at::kFloat}, 2e-6); }

TEST(FusedConvNextBlock, EqualsItsTwinUnderAutocastToBfloat16) {
  expect_equal_convnexts({at::kFloat, at::kBFloat16}, 1e-2);
}

TEST(FusedConvNextBlock, EqualsItsTwinUnderAutocastToFloat16) {
  expect_equal_convnexts({at::kFloat, at::kHalf}, 2e-3);
}

TEST(FusedConvNextBlock, EqualsItsTwinInBfloat16) { expect_equal_convnexts({at::kBFloat16}, 2e-2); }

TEST(FusedConvNextBlock, AutocastLeavesFloat64AsItIs) {
  const ConvNextConfig config = kinds_of_convnexts()["all there is"];
  const StepResult under = convnext_step(config, FusedMode::kOn, {at::kDouble, at::kBFloat16});
  const StepResult without = convnext_step(config, FusedMode::kOn, {at::kDouble});
  EXPECT_TRUE(at::equal(under.logits, without.logits));
}

// The twins would agree as well if no mask came through.
TEST(FusedConvNextBlock, DropsWhatItsKeySays) {
  ConvNextConfig config = small_convnext();
  config.ls_init_value = 0.3;
  const at::Tensor whole = convnext_step(config, FusedMode::kOn, {at::kDouble}).logits;
  config.drop_path_rate = 0.6;
  EXPECT_FALSE(
      at::allclose(convnext_step(config, FusedMode::kOn, {at::kDouble}).logits, whole, 1e-3, 1e-3));
}

at::Tensor small_map() {
  return at::linspace(-3, 3, 2 * 8 * 5 * 6)
      .sin()
      .view({2, 8, 5, 6})
      .contiguous(at::MemoryFormat::ChannelsLast);
}

void draw_block(const torch::nn::Module& block) {
  std::uint64_t index = 0;
  for (const nn::NamedTensor& item : nn::named_parameters(block))
    tensor::fill_normal(item.tensor, 0.0, 0.3, {.seed = 2, .index = index++});
}

/// The node that a block of 8 channels leaves behind.
std::string convnext_node(ConvNextBlockConfig config, const at::Tensor& input,
                          std::optional<at::ScalarType> autocast = {}) {
  config.dim = 8;
  const ConvNextBlock block(config, 0);
  draw_block(block);
  const tensor::AutocastGuard guard(at::kCPU, autocast);
  return block.forward(input, {}).grad_fn()->name();
}

TEST(FusedConvNextBlock, IsUsedUnderWhatPeopleTrainWith) {
  const at::Tensor x = small_map();
  const std::string fused_name = convnext_node({.fused = FusedMode::kOn}, x);
  EXPECT_NE(convnext_node({.fused = FusedMode::kOff}, x), fused_name);
  EXPECT_EQ(convnext_node({}, x), fused_name);
  EXPECT_EQ(convnext_node({.layer_scale = false, .use_grn = true, .conv_mlp = true}, x),
            fused_name);
  EXPECT_EQ(convnext_node({.drop_path_rate = 0.5}, x), fused_name);
  EXPECT_EQ(convnext_node({}, x, at::kBFloat16), fused_name);
  EXPECT_EQ(convnext_node({}, x.to(at::kBFloat16), at::kBFloat16), fused_name);
  EXPECT_EQ(convnext_node({.use_grn = true}, x, at::kHalf), fused_name);
}

TEST(FusedConvNextBlock, GivesWayWhereTypesOrLayoutsDiffer) {
  const auto is_refused = [](const at::Tensor& input, std::optional<at::ScalarType> autocast) {
    EXPECT_EQ(convnext_node({}, input, autocast),
              convnext_node({.fused = FusedMode::kOff}, input, autocast));
    EXPECT_THROW(convnext_node({.fused = FusedMode::kOn}, input, autocast), base::ConfigError);
  };
  is_refused(small_map().contiguous(), std::nullopt);
  is_refused(small_map().to(at::kBFloat16), at::kHalf);
}

TEST(FusedConvNextBlock, ResponseNormOfChannelsThatAreZero) {
  const auto gradients = [](FusedMode fused) {
    ConvNextBlock block({.dim = 8, .use_grn = true, .fused = fused}, 0);
    draw_block(block);
    nn::set_dtype(block, at::kDouble);
    {
      const at::NoGradGuard no_grad;
      const auto parameters = nn::named_parameters(block);
      for (const std::size_t fc1 : {5UL, 6UL}) parameters[fc1].tensor.slice(0, 0, 3).zero_();
    }
    block.forward(small_map().to(at::kDouble), {}).square().sum().backward();
    std::vector<at::Tensor> grads;
    for (const nn::NamedTensor& item : nn::named_parameters(block))
      grads.push_back(item.tensor.grad());
    return grads;
  };
  const std::vector<at::Tensor> fused = gradients(FusedMode::kOn);
  const std::vector<at::Tensor> plain = gradients(FusedMode::kOff);
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_TRUE(at::allclose(fused[i], plain[i], 1e-10, 1e-10)) << i;
}

TEST(FusedConvNextBlock, NoticesWeightsChangedBeforeBackward) {
  const ConvNextBlock block({.dim = 8, .fused = FusedMode::kOn}, 0);
  draw_block(block);
  const at::Tensor loss = block.forward(small_map(), {}).sum();
  {
    const at::NoGradGuard no_grad;
    for (const nn::NamedTensor& item : nn::named_parameters(block)) item.tensor.add_(1.0);
  }
  EXPECT_THROW(loss.backward(), c10::Error);
}

}  // namespace
}  // namespace paceline::models
