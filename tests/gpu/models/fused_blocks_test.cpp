// Blocks as one node beside their operations one by one, both on the GPU.

#include "gpu/test_devices.h"
#include "paceline/models/convnext/convnext.h"
#include "paceline/models/vit/vit.h"
#include "unit/models/fused_expectations.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

template <class Network, class Config>
StepResult step_of(Config config, FusedMode fused, const StepTypes& types) {
  config.fused = fused;
  Network network(config);
  network.initialize(11);
  {
    const at::NoGradGuard no_grad;
    for (const nn::NamedTensor& item : nn::named_parameters(network)) {
      if (item.tensor.dim() > 1) item.tensor.mul_(8.0);
    }
  }
  network.to(types.place, types.stored);
  return run_step(network, {8, 3, 64, 64}, types);
}

template <class Network, class Config>
void expect_equal_twins(const std::map<std::string, Config>& kinds) {
  const auto device = test::open_device(0);
  const at::Device place = device->place();
  struct Case {
    StepTypes types;
    double tolerance;
  };
  for (const Case& each :
       {Case{{at::kDouble, {}, place}, 1e-11}, Case{{at::kFloat, {}, place}, 1e-4},
        Case{{at::kFloat, at::kBFloat16, place}, 5e-2},
        Case{{at::kFloat, at::kHalf, place}, 1e-2}}) {
    for (const auto& [name, config] : kinds) {
      SCOPED_TRACE(name + " in " + c10::toString(each.types.autocast.value_or(each.types.stored)));
      expect_equal_steps_but_for_rounding(
          step_of<Network>(config, FusedMode::kOn, each.types),
          step_of<Network>(config, FusedMode::kOff, each.types),
          step_of<Network>(config, FusedMode::kOff, {at::kDouble, {}, place}), each.tolerance);
    }
  }
}

TEST(FusedBlocks, OfVitsEqualTheirTwins) {
  const VitConfig plain{.num_classes = 7,
                        .img_size = 64,
                        .patch_size = 16,
                        .embed_dim = 96,
                        .depth = 3,
                        .num_heads = 3};
  std::map<std::string, VitConfig> kinds{{"plain", plain}, {"dropped", plain}, {"scaled", plain}};
  VitConfig& dropped = kinds["dropped"];
  dropped.proj_drop_rate = dropped.attn_drop_rate = 0.2;
  kinds["scaled"].init_values = 0.3;
  kinds["scaled"].qk_norm = true;
  expect_equal_twins<Vit>(kinds);
}

TEST(FusedBlocks, OfConvNextsEqualTheirTwins) {
  ConvNextConfig plain{.num_classes = 7, .depths = {1, 2, 1, 1}, .dims = {8, 16, 24, 40}};
  plain.ls_init_value = 0.3;
  std::map<std::string, ConvNextConfig> kinds{{"plain", plain}, {"response norm", plain}};
  kinds["response norm"].use_grn = true;
  kinds["response norm"].ls_init_value.reset();
  expect_equal_twins<ConvNext>(kinds);
}

}  // namespace
}  // namespace paceline::models
