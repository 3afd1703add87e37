#include "paceline/models/vit/fused_block.h"

#include "paceline/base/error.h"
#include "paceline/models/vit/vit.h"
#include "unit/models/fused_expectations.h"

#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

VitConfig fused_config(FusedMode fused) {
  return {.num_classes = 7,
          .img_size = 32,
          .patch_size = 8,
          .embed_dim = 48,
          .depth = 4,
          .num_heads = 3,
          .fused = fused};
}

VitConfig with_all_drops() {
  VitConfig config = fused_config(FusedMode::kAuto);
  config.pos_drop_rate = config.proj_drop_rate = config.attn_drop_rate = 0.2;
  config.drop_path_rate = 0.6;
  return config;
}

/// Blocks of all kinds; `fused` is set by the test.
std::map<std::string, VitConfig> kinds_of_blocks() {
  std::map<std::string, VitConfig> kinds;
  kinds["plain"] = fused_config(FusedMode::kAuto);
  kinds["attention drops"] = kinds["plain"];
  kinds["attention drops"].attn_drop_rate = 0.3;
  kinds["path drops"] = kinds["plain"];
  kinds["path drops"].drop_path_rate = 0.6;
  kinds["all drop"] = with_all_drops();
  kinds["scaled"] = kinds["plain"];
  kinds["scaled"].init_values = 0.3;
  kinds["scaled, all drop"] = with_all_drops();
  kinds["scaled, all drop"].init_values = 0.3;
  kinds["normed heads"] = kinds["plain"];
  kinds["normed heads"].qk_norm = true;
  kinds["all there is, no biases"] = kinds["scaled, all drop"];
  kinds["all there is, no biases"].qk_norm = true;
  kinds["all there is, no biases"].qkv_bias = false;
  return kinds;
}

/// One step; weights are large enough for every gradient to matter, and there are as many images
/// that no path of the last block is dropped for all of them.
StepResult vit_step(VitConfig config, FusedMode fused, const StepTypes& types) {
  config.fused = fused;
  Vit vit(config);
  vit.initialize(11);
  nn::set_dtype(vit, types.stored);
  {
    const at::NoGradGuard no_grad;
    for (const nn::NamedTensor& item : nn::named_parameters(vit)) {
      if (item.tensor.dim() == 2) item.tensor.mul_(8.0);
    }
  }
  return run_step(vit, {8, 3, 32, 32}, types);
}

void expect_equal_vits(const StepTypes& types, double tolerance) {
  for (const auto& [name, config] : kinds_of_blocks()) {
    SCOPED_TRACE(name);
    expect_equal_steps(vit_step(config, FusedMode::kOn, types),
                       vit_step(config, FusedMode::kOff, types), tolerance);
  }
}

TEST(FusedVitBlock, EqualsItsTwinInFloat64) { expect_equal_vits({at::kDouble}, 1e-12); }

TEST(FusedVitBlock, EqualsItsTwinInFloat32) { expect_equal_vits({at::kFloat}, 1e-6); }

TEST(FusedVitBlock, EqualsItsTwinUnderAutocastToBfloat16) {
  expect_equal_vits({at::kFloat, at::kBFloat16}, 1e-2);
}

TEST(FusedVitBlock, EqualsItsTwinUnderAutocastToFloat16) {
  expect_equal_vits({at::kFloat, at::kHalf}, 2e-3);
}

TEST(FusedVitBlock, EqualsItsTwinInBfloat16) { expect_equal_vits({at::kBFloat16}, 2e-2); }

TEST(FusedVitBlock, AutocastLeavesFloat64AsItIs) {
  const VitConfig config = with_all_drops();
  const StepResult under = vit_step(config, FusedMode::kOn, {at::kDouble, at::kBFloat16});
  const StepResult without = vit_step(config, FusedMode::kOn, {at::kDouble});
  EXPECT_TRUE(at::equal(under.logits, without.logits));
}

// The twins would agree as well if no mask came through.
TEST(FusedVitBlock, DropsWhatItsKeySays) {
  const auto logits = [](const VitConfig& config) {
    return vit_step(config, FusedMode::kOn, {at::kDouble}).logits;
  };
  std::vector<at::Tensor> all{logits(fused_config(FusedMode::kAuto))};
  for (double VitConfig::*rate :
       {&VitConfig::proj_drop_rate, &VitConfig::attn_drop_rate, &VitConfig::drop_path_rate}) {
    VitConfig config = fused_config(FusedMode::kAuto);
    config.*rate = 0.5;
    const at::Tensor dropped = logits(config);
    for (const at::Tensor& other : all) EXPECT_FALSE(at::allclose(dropped, other, 1e-3, 1e-3));
    all.push_back(dropped);
  }
}

/// The node that a block of 48 channels leaves behind.
std::string node_of(VitBlockConfig config, std::optional<at::ScalarType> autocast = {}) {
  config.dim = 48;
  config.num_heads = 3;
  config.mlp_dim = 192;
  const VitBlock block(config, 0);
  const tensor::AutocastGuard guard(at::kCPU, autocast);
  return block.forward(at::ones({4, 48}).requires_grad_(), {2, 2}, {}).grad_fn()->name();
}

TEST(FusedVitBlock, IsUsedUnderWhatPeopleTrainWith) {
  const std::string fused_name = node_of({.fused = FusedMode::kOn});
  EXPECT_NE(node_of({.fused = FusedMode::kOff}), fused_name);
  EXPECT_EQ(node_of({}), fused_name);
  EXPECT_EQ(node_of({.layer_scale = true}), fused_name);
  EXPECT_EQ(node_of({.qk_norm = true}), fused_name);
  EXPECT_EQ(node_of({.proj_drop_rate = 0.5, .attn_drop_rate = 0.5, .drop_path_rate = 0.5}),
            fused_name);
  EXPECT_EQ(node_of({}, at::kBFloat16), fused_name);
  EXPECT_EQ(node_of({.attn_drop_rate = 0.5}, at::kHalf), fused_name);
}

TEST(FusedVitBlock, GivesWayWhereTypesDiffer) {
  const auto run_block = [](FusedMode fused) {
    VitBlock block({.dim = 48, .num_heads = 3, .mlp_dim = 192, .fused = fused}, 0);
    const tensor::AutocastGuard autocast(at::kCPU, at::kBFloat16);
    return block.forward(at::ones({4, 48}, at::kBFloat16), {2, 2}, {}).scalar_type();
  };
  EXPECT_EQ(run_block(FusedMode::kAuto), run_block(FusedMode::kOff));
  EXPECT_THROW(run_block(FusedMode::kOn), base::ConfigError);
}

TEST(FusedVitBlock, NoticesWeightsChangedBeforeBackward) {
  Vit vit(fused_config(FusedMode::kOn));
  vit.initialize(1);
  const at::Tensor loss = vit.forward_images(at::ones({1, 3, 32, 32}), {}).sum();
  {
    const at::NoGradGuard no_grad;
    for (const nn::NamedTensor& item : nn::named_parameters(vit)) item.tensor.add_(1.0);
  }
  EXPECT_THROW(loss.backward(), c10::Error);
}

}  // namespace
}  // namespace paceline::models
