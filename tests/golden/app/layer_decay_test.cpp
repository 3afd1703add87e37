// Against timm's param_groups_layer_decay; see make_layer_decay.py.

#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/nn/module_tree.h"
#include "support/parity.h"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

void expect_factors(const std::string& model, const std::string& decay) {
  const auto golden = nlohmann::json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/layer_decay.json"));
  const auto registries = make_registries();
  const auto recipe = config::bind<Recipe>(
      config::parse_yaml("model: {name: " + model + ", num_classes: 2}\n" +
                             "optimizer: {name: adamw, layer_decay: " + decay + "}\n",
                         "test.yaml"),
      registries->context(1));
  const auto task = make_task(recipe, *registries);
  const auto plan = registries->optimizers.build(recipe.optimizer);
  const auto rules = group_rules(*plan, task->network());
  std::size_t count = 0;
  for (const nn::NamedTensor& named : nn::named_parameters(task->network())) {
    SCOPED_TRACE(named.name);
    paceline::test::expect_reference(
        "layer_decay of " + model, "factor on the learning rate",
        rules[optim::match_rule(rules, named.name, named.tensor)].lr_scale,
        golden.at(model).at(named.name).get<double>(), 1e-12);
    ++count;
  }
  EXPECT_EQ(count, golden.at(model).size());
}

TEST(LayerDecayGolden, EachLayerHasTimmsFactor) {
  expect_factors("resnet18", "0.8");
  expect_factors("convnextv2_atto", "0.8");
  expect_factors("vit_tiny_patch16_224", "0.75");
}

}  // namespace
}  // namespace paceline::app
