#include "paceline/app/recipe/recipe.h"

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/foreign_table.h"
#include "paceline/base/error.h"
#include "paceline/config/bind.h"
#include "paceline/config/override.h"
#include "paceline/config/parse.h"
#include "paceline/config/write.h"
#include "paceline/data/sources/synthetic.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Recipe bind_text(const std::string& text) {
  const auto registries = make_registries();
  return config::bind<Recipe>(config::parse_yaml(text, "test.yaml"), {registries->catalogs(), 2});
}

TEST(Recipe, DefaultsAreComplete) {
  const Recipe recipe = bind_text("{}");
  EXPECT_EQ(recipe.model.network.name, "resnet50");
  EXPECT_EQ(recipe.optimizer.name, "sgd");
  EXPECT_EQ(recipe.loggers.size(), 5u);
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

TEST(Recipe, TakesSubsetsByNameAndNumber) {
  EXPECT_EQ(bind_text("data: {subset: 25000}").data.subset, "25000");
  EXPECT_EQ(bind_text("data: {subset: tiny}").data.subset, "tiny");
  try {
    bind_text("data: {subset: huge}");
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("data.subset: 'huge' is no subset: expected full, tiny"));
  }
}

TEST(Recipe, RefusesTwoBatchSizes) {
  try {
    bind_text("data: {global_batch_size: 64, batch_size_per_rank: 8}");
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("data.global_batch_size (64"));
    EXPECT_THAT(error.what(), HasSubstr("not both"));
  }
}

TEST(Recipe, RefusesAnAugmentationThatTransformsWouldHide) {
  EXPECT_EQ(bind_text("data: {augmentation: strong}").data.augmentation,
            data::Augmentation::kStrong);
  try {
    bind_text("data: {augmentation: strong, train_transforms: [normalize]}");
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("data.augmentation: says nothing where"));
  }
}

TEST(Recipe, NamesOfPrecisionsFromOtherTrainersBind) {
  for (const char* foreign : {"16", "16-mixed", "amp_fp16", "half", "bf16-mixed", "amp_bf16",
                              "bfloat16", "32", "no", "64-true", "double"}) {
    const auto ours = make_registries()->foreign_names.translate("train.precision", foreign);
    ASSERT_TRUE(ours) << foreign;
    const Recipe recipe = bind_text("train: {precision: " + *ours + "}");
    EXPECT_EQ(config::enum_name(recipe.train.precision), *ours);
  }
  EXPECT_EQ(bind_text("train: {precision: auto}").train.precision, train::Precision::kAuto);
}

/// What is wrong with an override of the defaults.
std::string complaint_about(const std::string& text) {
  const auto registries = make_registries();
  config::Node node = config::Node::map();
  config::Problems problems;
  const std::vector<std::string> overrides{text};
  config::apply_overrides(node, overrides, config::describe<Recipe>(), problems);
  Recipe recipe;
  config::bind(node, config::describe<Recipe>(), &recipe, {registries->catalogs(), 1}, problems);
  try {
    problems.throw_if_any();
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Recipe, OnlyFp16HasAGradScaler) {
  EXPECT_THAT(complaint_about("train={precision: bf16, grad_scaler: {init_scale: 8}}"),
              HasSubstr("train.grad_scaler: only precision fp16"));
  EXPECT_EQ(complaint_about("train={precision: fp16, grad_scaler: {init_scale: 8}}"), "");
  EXPECT_EQ(complaint_about("train={precision: bf16, grad_scaler: {init_scale: 65536}}"), "")
      << "as a resolved recipe has it";
  EXPECT_THAT(complaint_about("train={precision: fp16, grad_scaler: {growth_factor: 1}}"),
              HasSubstr("more than 1"));
}

void add_names(const config::StructInfo& info, std::set<std::string>& names) {
  for (const config::FieldInfo& field : info.fields) {
    names.insert(field.name);
    if (field.type->structure) add_names(*field.type->structure, names);
  }
}

TEST(Recipe, NamesOfOtherTrainersLeadToItsKeys) {
  for (const ForeignName& foreign : foreign_names()) {
    if (foreign.key.empty() || foreign.key.starts_with("--")) continue;
    if (foreign.when == GivenValue::kMap) {
      EXPECT_NE(config::describe<Recipe>().find(foreign.key), nullptr) << foreign.name;
      continue;
    }
    if (foreign.value.empty()) {
      EXPECT_THAT(complaint_about(fmt::format("++{}=[]", foreign.key)),
                  Not(HasSubstr("there is no")))
          << foreign.name;
      continue;
    }
    std::string value(foreign.value);
    if (const std::size_t place = value.find("{}"); place != value.npos)
      value.replace(place, 2, "1");
    if (value == "N") value = "1";
    EXPECT_EQ(complaint_about(fmt::format("++{}={}", foreign.key, value)), "") << foreign.name;
  }
}

TEST(Recipe, NamesOfOtherTrainersThatLeadNowhereAreNotItsKeys) {
  std::set<std::string> names;
  add_names(config::describe<Recipe>(), names);
  const auto registries = make_registries();
  for (const auto& [kind, catalog] : registries->catalogs()) {
    for (const auto& [name, entry] : catalog->entries()) add_names(*entry.info, names);
  }
  for (const ForeignName& foreign : foreign_names()) {
    if (!foreign.key.empty()) continue;
    EXPECT_FALSE(names.contains(std::string(foreign.name))) << foreign.name;
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
