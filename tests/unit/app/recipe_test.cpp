#include "paceline/app/recipe.h"

#include "paceline/app/builtin.h"
#include "paceline/base/error.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/config/write.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

Recipe bind_text(const std::string& text) {
  const auto registries = make_registries();
  return config::bind<Recipe>(config::parse_yaml(text, "test.yaml"), {registries->catalogs(), 2});
}

TEST(Recipe, DefaultsAreComplete) {
  const Recipe recipe = bind_text("{}");
  EXPECT_EQ(recipe.model.network.name, "resnet50");
  EXPECT_EQ(recipe.optimizer.name, "sgd");
  EXPECT_EQ(recipe.loggers.size(), 3u);
  EXPECT_NE(recipe.loggers.at("console").options, nullptr);
}

TEST(Recipe, ComponentsTakeTheirOwnKeysBesideTheSectionsKeys) {
  const Recipe recipe = bind_text(
      "model: {name: resnet18, num_classes: 7, pretrained: weights.safetensors}\n"
      "data: {name: synthetic, num_samples: 5, drop_last: true}\n");
  EXPECT_EQ(recipe.model.pretrained, "weights.safetensors");
  EXPECT_EQ(recipe.data.source.as<data::SyntheticConfig>().num_samples, 5);
  EXPECT_TRUE(recipe.data.drop_last);
}

TEST(Recipe, RefusesTwoBatchSizes) {
  try {
    bind_text("data: {global_batch_size: 64, batch_size_per_rank: 8}");
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("data.global_batch_size (64"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("not both"));
  }
}

TEST(Recipe, ResolvedTextLoadsEqual) {
  const Recipe recipe =
      bind_text("optimizer: {name: adamw, lr: 1e-3}\ncallbacks: {early_stop: {patience: 2}}");
  const std::string text = config::to_yaml(config::to_node(config::describe<Recipe>(), &recipe));
  const Recipe again = bind_text(text);
  EXPECT_EQ(config::to_yaml(config::to_node(config::describe<Recipe>(), &again)), text);
}

}  // namespace
}  // namespace paceline::app
