// ConvNeXts against timm's, MobileNets and EfficientNets against torchvision's, by the numbers that
// make_convnets.py wrote. One thread.

#include "golden/models/reference_expectations.h"
#include "paceline/models/builtin.h"
#include "support/one_thread.h"

#include <fstream>
#include <memory>
#include <string>

namespace paceline::models {
namespace {

using nlohmann::json;
using paceline::test::OneThread;

const json& convnet_numbers() {
  static const json numbers =
      json::parse(std::ifstream(std::string(PACELINE_GOLDEN_DIR) + "/convnets.json"));
  return numbers;
}

/// The network of make_convnets.py of that name.
std::unique_ptr<nn::Network> make_tiny(const std::string& name, FusedMode fused) {
  if (name.starts_with("tiny_convnext")) {
    ConvNextConfig config{
        .num_classes = 10, .depths = {1, 1, 2, 1}, .dims = {4, 4, 6, 8}, .fused = fused};
    if (name == "tiny_convnextv2") {
      config.ls_init_value = std::nullopt;
      config.use_grn = config.conv_mlp = true;
    }
    return make(config);
  }
  if (name == "tiny_mobilenet") {
    using nn::Activation;
    return std::make_unique<MobileNetV3>(
        MobileNetV3Shape{{{3, 16, 8, true, Activation::kRelu, 1},
                          {5, 24, 8, true, Activation::kHardswish, 2},
                          {3, 16, 8, false, Activation::kRelu, 1}},
                         16},
        MobileNetV3Config{.num_classes = 10, .drop_rate = 0.0});
  }
  return std::make_unique<EfficientNet>(
      EfficientNetShape{8,
                        {{true, 1, 3, 1, 8, 1},
                         {true, 2, 3, 2, 8, 1},
                         {false, 3, 3, 1, 8, 2},
                         {false, 1, 5, 2, 16, 1}},
                        16,
                        1e-3},
      EfficientNetConfig{.num_classes = 10, .drop_rate = 0.0, .drop_path_rate = 0.0});
}

/// A built-in one, without anything that is dropped in training.
std::unique_ptr<nn::Network> make_builtin(const std::string& name, std::int64_t num_classes,
                                          FusedMode fused = FusedMode::kAuto) {
  Registry registry("model");
  add_builtin(registry);
  const config::ComponentEntry* entry = registry.find(name);
  PACELINE_CHECK(entry != nullptr, "no model {}", name);
  const config::Component component{name, entry->info, entry->make()};
  const auto build = [&]<class Config>(Config config) {
    config.num_classes = num_classes;
    config.drop_rate = config.drop_path_rate = 0.0;
    return registry.build(config::Component::of(name, config));
  };
  if (name.starts_with("convnext")) {
    ConvNextConfig config = component.as<ConvNextConfig>();
    config.fused = fused;
    return build(config);
  }
  if (name.starts_with("mobilenet")) return build(component.as<MobileNetV3Config>());
  return build(component.as<EfficientNetConfig>());
}

TEST(ConvnetsGolden, LogitsLossGradientsAndStatisticsEqualTheReferences) {
  const OneThread one_thread;
  for (const json& wanted : convnet_numbers()["cases"]) {
    const auto name = wanted["model"].get<std::string>();
    for (const FusedMode fused : {FusedMode::kAuto, FusedMode::kOff}) {
      for (const std::string dtype : wanted["dtypes"]) {
        SCOPED_TRACE(fmt::format("{} {} fused {}", name, dtype, config::enum_name(fused)));
        const auto model =
            name.starts_with("tiny") ? make_tiny(name, fused) : make_builtin(name, 10, fused);
        expect_numbers(*model, wanted, wanted["image_size"].get<std::int64_t>(),
                       dtype == "float64" ? at::kDouble : at::kFloat, 0.0);
      }
      if (name.find("convnext") == std::string::npos) break;  // has no fused blocks
    }
  }
}

TEST(ConvnetsGolden, LargerOnesGiveTheReferencesLogits) {
  const OneThread one_thread;
  for (const auto& [name, wanted] : convnet_numbers()["logits"].items()) {
    SCOPED_TRACE(name);
    expect_logits(name, *make_builtin(name, 10), wanted["values"],
                  wanted["image_size"].get<std::int64_t>(), at::kDouble, 1e-6);
  }
}

TEST(ConvnetsGolden, StateDictsHaveTheReferencesNamesAndShapesInOrder) {
  for (const auto& [name, wanted] : convnet_numbers()["state"].items()) {
    SCOPED_TRACE(name);
    expect_names(*make_builtin(name, 1000), wanted);
  }
}

TEST(ConvnetsGolden, AScaledMobileNetHasTheReferencesChannels) {
  const json& wanted = convnet_numbers()["scaled"];
  const auto name = wanted["model"].get<std::string>();
  Registry registry("model");
  add_builtin(registry);
  const MobileNetV3Config config{.width_mult = wanted["width_mult"].get<double>()};
  expect_names(*registry.build(config::Component::of(name, config)), wanted);
}

TEST(ConvnetsGolden, FlopsAreTheCountersOfPytorch) {
  for (const auto& [name, wanted] : convnet_numbers()["flops"].items()) {
    EXPECT_DOUBLE_EQ(make_builtin(name, 1000)->flops_per_sample({{"images", {3, 224, 224}}}),
                     wanted.get<double>())
        << name;
  }
}

TEST(ConvnetsGolden, InitialWeightsHaveTheReferencesDistributions) {
  for (const auto& [name, layers] : convnet_numbers()["initial"].items()) {
    SCOPED_TRACE(name);
    expect_distributions(*make_builtin(name, 1000), layers);
  }
}

}  // namespace
}  // namespace paceline::models
