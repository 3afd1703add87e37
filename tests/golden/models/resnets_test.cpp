// ResNeXts, Wide ResNets, ResNet-D and the ResNets of CIFAR against torchvision, timm and PyTorch,
// by the numbers that make_resnets.py wrote. One thread.

#include "golden/models/reference_expectations.h"
#include "paceline/models/builtin.h"
#include "support/one_thread.h"

#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::models {
namespace {

using nlohmann::json;
using paceline::test::OneThread;

const json& resnets_golden() {
  static const json numbers =
      json::parse(std::ifstream(std::string(PACELINE_GOLDEN_DIR) + "/resnets.json"));
  return numbers;
}

template <class Config>
config::Component with_classes(const config::Component& component,
                               std::optional<std::int64_t> num_classes) {
  Config options = component.as<Config>();
  options.num_classes = num_classes.value_or(options.num_classes);
  return config::Component::of(component.name, options);
}

std::shared_ptr<nn::Network> named_resnet(const std::string& name,
                                          std::optional<std::int64_t> num_classes) {
  Registry registry("model");
  add_builtin(registry);
  const config::ComponentEntry* entry = registry.find(name);
  PACELINE_CHECK(entry != nullptr, "no model {}", name);
  const config::Component component{name, entry->info, entry->make()};
  return registry.build(name == "resnet9" ? with_classes<ResNet9Config>(component, num_classes)
                                          : with_classes<ResNetConfig>(component, num_classes));
}

/// What make_resnets.py calls so, with as many classes or its own number.
std::shared_ptr<nn::Network> make_resnet(const std::string& name,
                                         std::optional<std::int64_t> num_classes = {}) {
  if (name == "tiny_resnext_d") {
    return std::make_shared<ResNet>(ResNetConfig{.num_classes = 10,
                                                 .layers = {1, 1},
                                                 .block = ResNetBlock::kBottleneck,
                                                 .width = 4,
                                                 .groups = 2,
                                                 .width_per_group = 32,
                                                 .stem = ResNetStem::kDeep,
                                                 .shortcut = ResNetShortcut::kAveragePool});
  }
  if (name == "tiny_padding") {
    return std::make_shared<ResNet>(ResNetConfig{.num_classes = 10,
                                                 .layers = {1, 1},
                                                 .width = 4,
                                                 .stem = ResNetStem::kSmall,
                                                 .shortcut = ResNetShortcut::kPadding});
  }
  if (name == "resnet20 projection") {
    return std::make_shared<ResNet>(ResNetConfig{
        .num_classes = 10, .layers = {3, 3, 3}, .width = 16, .stem = ResNetStem::kSmall});
  }
  return named_resnet(name, num_classes);
}

TEST(ResNetsGolden, LogitsLossGradientsAndStatisticsEqualTheReferences) {
  const OneThread one_thread;
  for (const json& wanted : resnets_golden()["cases"]) {
    const auto name = wanted["model"].get<std::string>();
    for (const json& dtype : wanted["dtypes"]) {
      SCOPED_TRACE(name + " " + dtype.get<std::string>());
      expect_numbers(*make_resnet(name, 10), wanted, wanted["image_size"],
                     dtype == "float64" ? at::kDouble : at::kFloat, wanted["norm_bias"]);
    }
  }
}

/// Norm and weighted sum of the gradients of each part of a network, taken together.
std::map<std::string, std::array<double, 2>> gradients_of_parts(const nn::Network& model) {
  std::map<std::string, std::array<double, 2>> parts;
  std::uint32_t number = 0;
  for (const nn::NamedTensor& item : nn::state_dict(model)) {
    if (item.is_parameter) {
      const auto of_one = reference_summary(item.tensor.grad(), number);
      auto& [norm, sum] = parts[item.name.substr(0, item.name.find('.'))];
      norm = std::hypot(norm, of_one[0]);
      sum += of_one[1];
    }
    ++number;
  }
  return parts;
}

TEST(ResNetsGolden, GradientsOfDeepOnesAddUpToTheReferences) {
  const OneThread one_thread;
  for (const json& wanted : resnets_golden()["sums"]) {
    const auto name = wanted["model"].get<std::string>();
    SCOPED_TRACE(name);
    const auto model = make_resnet(name, 10);
    expect_pass(*model, wanted, wanted["image_size"], at::kDouble, 0.0);
    const auto parts = gradients_of_parts(*model);
    EXPECT_EQ(parts.size(), wanted["parts"].size());
    for (const auto& [part, got] : parts) {
      const auto expected = wanted["parts"].at(part).get<std::array<double, 2>>();
      EXPECT_NEAR(got[0], expected[0], 1e-10 * expected[0]) << part;
      EXPECT_NEAR(got[1], expected[1], 4e-10 * expected[0]) << part;
    }
  }
}

TEST(ResNetsGolden, TheLargestGiveTheReferencesLogits) {
  const OneThread one_thread;
  for (const auto& [name, wanted] : resnets_golden()["logits"].items()) {
    SCOPED_TRACE(name);
    expect_logits(name, *make_resnet(name, 10), wanted["values"], wanted["image_size"]);
  }
}

TEST(ResNetsGolden, StateDictsHaveTheReferencesNamesAndShapesInOrder) {
  for (const auto& [name, wanted] : resnets_golden()["state"].items()) {
    SCOPED_TRACE(name);
    expect_names(*make_resnet(name), wanted);
  }
}

TEST(ResNetsGolden, FlopsAreTheCountersOfPytorch) {
  for (const auto& [name, wanted] : resnets_golden()["flops"].items()) {
    EXPECT_DOUBLE_EQ(make_resnet(name)->flops_per_sample({{"images", {3, 224, 224}}}),
                     wanted.get<double>())
        << name;
  }
}

TEST(ResNetsGolden, InitialWeightsHaveTheReferencesDistributions) {
  for (const auto& [name, wanted] : resnets_golden()["initial"].items()) {
    SCOPED_TRACE(name);
    expect_distributions(*make_resnet(name), wanted);
  }
}

}  // namespace
}  // namespace paceline::models
