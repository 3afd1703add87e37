// ViTs and DeiTs against timm's, by the numbers that make_vits.py wrote. One thread.

#include "golden/models/reference_expectations.h"
#include "paceline/models/builtin.h"
#include "paceline/optim/param_groups.h"
#include "support/one_thread.h"

#include <fstream>
#include <map>
#include <memory>
#include <string>

#include <gmock/gmock.h>

namespace paceline::models {
namespace {

using nlohmann::json;
using paceline::test::OneThread;

const json& vit_numbers() {
  static const json numbers =
      json::parse(std::ifstream(std::string(PACELINE_GOLDEN_DIR) + "/vits.json"));
  return numbers;
}

/// What make_vits.py calls TINY, with the options of its TINIES.
VitConfig tiny_vit(const std::string& name) {
  VitConfig vit{.img_size = 8, .patch_size = 4, .embed_dim = 8, .depth = 2, .num_heads = 2};
  if (name == "registers") {
    vit.img_size = {8, 12};
    vit.in_channels = 2;
    vit.reg_tokens = 2;
    vit.no_embed_class = vit.qk_norm = true;
    vit.init_values = 0.1;
  } else if (name == "embedded_registers") {
    vit.reg_tokens = 3;
    vit.mlp_ratio = 2.5;
  } else if (name == "average") {
    vit.class_token = vit.qkv_bias = false;
    vit.reg_tokens = 1;
    vit.global_pool = VitPool::kAvg;
    vit.pre_norm = true;
  } else if (name == "average_of_normed") {
    vit.global_pool = VitPool::kAvg;
    vit.fc_norm = false;
  } else if (name == "largest") {
    vit.global_pool = VitPool::kMax;
    vit.class_token = false;
  } else if (name == "average_and_largest") {
    vit.global_pool = VitPool::kAvgMax;
    vit.final_norm = false;
  } else if (name == "token_then_norm") {
    vit.fc_norm = true;
  } else if (name == "distilled") {
    vit.distilled = true;
    vit.init_values = 0.5;
  } else if (name == "of_any_size") {
    vit.img_size = 12;
    vit.dynamic_img_size = true;
  } else {
    PACELINE_CHECK(false, "no tiny ViT {}", name);
  }
  return vit;
}

VitConfig vit_of(const std::string& name) {
  Registry registry("model");
  add_builtin(registry);
  const config::ComponentEntry* entry = registry.find(name);
  return entry == nullptr ? tiny_vit(name)
                          : *std::static_pointer_cast<const VitConfig>(entry->make());
}

Vit make_vit(VitConfig config, std::int64_t num_classes) {
  config.num_classes = num_classes;
  return Vit(config);
}

TEST(VitsGolden, LogitsLossAndGradientsEqualTheReferences) {
  const OneThread one_thread;
  for (const FusedMode fused : {FusedMode::kOn, FusedMode::kOff}) {
    for (const json& wanted : vit_numbers()["cases"]) {
      const auto name = wanted["model"].get<std::string>();
      std::vector<std::int64_t> sizes = wanted["image_size"];
      VitConfig config = vit_of(name);
      config.fused = fused;
      if (!config.dynamic_img_size)
        config.img_size = {static_cast<int>(sizes[1]), static_cast<int>(sizes[2])};
      sizes.insert(sizes.begin(), 8);
      for (const std::string dtype : wanted["dtypes"]) {
        SCOPED_TRACE(fmt::format("{} {} fused {}", name, dtype, config::enum_name(fused)));
        Vit vit = make_vit(config, 10);
        expect_numbers(vit, wanted,
                       reference_images(sizes, dtype == "float64" ? at::kDouble : at::kFloat), 0.0);
      }
    }
  }
}

TEST(VitsGolden, NamedOnesGiveTheReferencesLogitsAtTheirOwnSizes) {
  const OneThread one_thread;
  for (const auto& [name, wanted] : vit_numbers()["logits"].items()) {
    SCOPED_TRACE(name);
    Vit vit = make_vit(vit_of(name), 10);
    expect_logits(name, vit, wanted["values"], wanted["image_size"].get<std::int64_t>());
  }
}

TEST(VitsGolden, StateDictsHaveTheReferencesNamesAndShapesInOrder) {
  for (const auto& [name, wanted] : vit_numbers()["state"].items()) {
    SCOPED_TRACE(name);
    expect_names(Vit(vit_of(name)), wanted);
  }
}

TEST(VitsGolden, FlopsAreTheCountersOfPytorch) {
  for (const auto& [name, wanted] : vit_numbers()["flops"].items()) {
    const auto size = wanted["image_size"].get<std::int64_t>();
    EXPECT_DOUBLE_EQ(Vit(vit_of(name)).flops_per_image(size, size), wanted["flops"].get<double>())
        << name;
  }
}

TEST(VitsGolden, InitialWeightsHaveTheReferencesDistributions) {
  VitConfig config{.img_size = 128,
                   .embed_dim = 96,
                   .depth = 1,
                   .num_heads = 2,
                   .qk_norm = true,
                   .init_values = 0.5,
                   .reg_tokens = 4};
  const std::map<std::string, VitInit> modes{{"timm", VitInit::kTimm},
                                             {"jax", VitInit::kJax},
                                             {"jax_nlhb", VitInit::kJaxNlhb},
                                             {"moco", VitInit::kMoco}};
  for (const auto& [name, wanted] : vit_numbers()["initial"].items()) {
    SCOPED_TRACE(name);
    config.weight_init = modes.at(name);
    const Vit vit(config);
    EXPECT_EQ(nn::named_parameters(vit).size(), wanted.size());
    expect_distributions(vit, wanted);
  }
  config.weight_init = VitInit::kJax;
  config.reg_tokens = 0;
  config.distilled = true;
  expect_distributions(Vit(config), vit_numbers()["initial_distilled"]);
}

TEST(VitsGolden, TimmsParametersWithoutDecayAreOurs) {
  const std::vector<std::string> wanted = vit_numbers()["no_weight_decay"];
  const auto rules = optim::weight_decay_rules(0.05, false, optim::embedding_names());
  ASSERT_FALSE(wanted.empty());
  for (const std::string& name : wanted) {
    const at::Tensor parameter = at::zeros({1, 2, 3});
    EXPECT_EQ(rules[optim::match_rule(rules, name, parameter)].weight_decay, 0.0) << name;
  }
}

/// What a network makes of stored values that make_vits.py filled by `number`.
at::Tensor adapted(const Vit& vit, const std::string& name, const json& wanted, double scale) {
  const std::vector<std::int64_t> sizes = wanted["stored"];
  const at::Tensor stored = at::empty(sizes);
  fill_reference(stored, wanted["number"], scale, 0.0);
  const auto adaptation = vit.adapt_stored(name, sizes);
  PACELINE_CHECK(adaptation.has_value(), "{} is not adapted", name);
  return adaptation->apply(stored);
}

TEST(VitsGolden, PositionsOfAnotherGridAreResampledAsTimmDoes) {
  for (const json& wanted : vit_numbers()["positions"]) {
    const auto prefix = wanted["prefix"].get<std::int64_t>();
    const std::vector<int> grid = wanted["wanted"];
    SCOPED_TRACE(wanted["number"].dump());
    VitConfig config{.img_size = {4 * grid[0], 4 * grid[1]},
                     .patch_size = 4,
                     .embed_dim = 3,
                     .depth = 1,
                     .num_heads = 1};
    config.no_embed_class = prefix == 0;
    config.reg_tokens = prefix > 1 ? prefix - 1 : 0;
    const at::Tensor got = adapted(Vit(config), "pos_embed", wanted, 0.4);
    EXPECT_EQ(got.sizes(), (std::vector<std::int64_t>{1, prefix + grid[0] * grid[1], 3}));
    expect_values({"vit", "resampled positions"}, got, wanted["values"], 1e-6);
  }
}

TEST(VitsGolden, PatchesOfAnotherSizeAreResampledAsTimmDoes) {
  for (const json& wanted : vit_numbers()["patches"]) {
    const auto patch = wanted["wanted"].get<int>();
    SCOPED_TRACE(wanted["number"].dump());
    const Vit vit({.in_channels = 2,
                   .img_size = 2 * patch,
                   .patch_size = patch,
                   .embed_dim = 4,
                   .depth = 1,
                   .num_heads = 1});
    const auto stored = wanted["stored"].get<std::vector<std::int64_t>>();
    const double scale = std::sqrt(24.0 / static_cast<double>(stored[1] * stored[2] * stored[3]));
    // Both sides invert a matrix in float32.
    expect_values({"vit", "resampled patches"},
                  adapted(vit, "patch_embed.proj.weight", wanted, scale), wanted["values"], 1e-5);
  }
}

}  // namespace
}  // namespace paceline::models
