// Our models against torchvision's and timm's, by the numbers that make_models.py wrote. One
// thread.

#include "golden/models/reference_expectations.h"
#include "paceline/models/builtin.h"
#include "support/one_thread.h"

#include <cmath>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::models {
namespace {

using nlohmann::json;
using paceline::test::OneThread;

const json& golden() {
  static const json numbers =
      json::parse(std::ifstream(std::string(PACELINE_GOLDEN_DIR) + "/models.json"));
  return numbers;
}

std::shared_ptr<nn::Network> make(const std::string& name, std::int64_t num_classes,
                                  std::int64_t img_size = 224,
                                  ResNetStem stem = ResNetStem::kImagenet) {
  Registry registry("model");
  add_builtin(registry);
  const config::ComponentEntry* entry = registry.find(name);
  PACELINE_CHECK(entry != nullptr, "no model {}", name);
  config::Component component{name, entry->info, entry->make()};
  if (name.starts_with("resnet")) {
    auto options = component.as<ResNetConfig>();
    options.num_classes = num_classes;
    options.stem = stem;
    component = config::Component::of(name, options);
  } else {
    auto options = component.as<VitConfig>();
    options.num_classes = num_classes;
    options.img_size = static_cast<int>(img_size);
    if (name == "vit") {  // TINY_VIT
      options.patch_size = 4;
      options.embed_dim = 8;
      options.depth = options.num_heads = 2;
    }
    component = config::Component::of(name, options);
  }
  return registry.build(component);
}

void expect_case(const json& wanted) {
  const auto name = wanted["model"].get<std::string>();
  const auto size = wanted["image_size"].get<std::int64_t>();
  SCOPED_TRACE(name + " " + wanted["dtype"].get<std::string>() + " at " + std::to_string(size));
  const auto stem = wanted["stem"] == "small" ? ResNetStem::kSmall : ResNetStem::kImagenet;
  expect_numbers(*make(name, 10, size, stem), wanted, size,
                 wanted["dtype"] == "float64" ? at::kDouble : at::kFloat,
                 wanted["norm_bias"].get<double>());
}

// What the comparison of large gradients rests on: their norm alone tells none of these apart.
TEST(ModelsGolden, TheWeightedSumKnowsOtherElementsOfTheSameNorm) {
  const at::Tensor gradient = reference_images(1, 16, at::kDouble).view({3, 16, 16});
  const auto wanted = reference_summary(gradient, 5);
  at::Tensor one_sign = gradient.clone();
  one_sign[1][2][3].neg_();
  at::Tensor two_swapped = gradient.clone();
  two_swapped[0][0][0] = gradient[2][15][15];
  two_swapped[2][15][15] = gradient[0][0][0];
  for (const at::Tensor& other : {gradient.transpose(1, 2), gradient.flip({0}), gradient.roll(1, 2),
                                  -gradient, one_sign, two_swapped}) {
    const auto got = reference_summary(other.contiguous(), 5);
    EXPECT_NEAR(got[0], wanted[0], 1e-12 * wanted[0]);
    EXPECT_GT(std::abs(got[1] - wanted[1]), 1e-4 * wanted[0]);
  }
}

TEST(ModelsGolden, LogitsLossGradientsAndStatisticsEqualTheReferences) {
  const OneThread one_thread;
  for (const json& wanted : golden()["cases"]) expect_case(wanted);
}

TEST(ModelsGolden, VitBaseGivesTheReferencesLogitsAtItsOwnSize) {
  const OneThread one_thread;
  expect_logits("vit_base_patch32_224", *make("vit_base_patch32_224", 10), golden()["base_logits"],
                224);
}

TEST(ModelsGolden, StateDictsHaveTheReferencesNamesAndShapesInOrder) {
  for (const auto& [name, wanted] : golden()["state"].items()) {
    SCOPED_TRACE(name);
    expect_names(*make(name, 1000), wanted);
  }
}

TEST(ModelsGolden, FlopsAreTheCountersOfPytorch) {
  for (const auto& [name, wanted] : golden()["flops"].items()) {
    EXPECT_DOUBLE_EQ(make(name, 1000)->flops_per_sample({{"images", {3, 224, 224}}}),
                     wanted.get<double>())
        << name;
  }
}

TEST(ModelsGolden, InitialWeightsHaveTheReferencesDistributions) {
  for (const auto& [name, layers] : golden()["initial"].items()) {
    SCOPED_TRACE(name);
    expect_distributions(*make(name, 1000), layers);
  }
}

}  // namespace
}  // namespace paceline::models
