#include "paceline/app/recipe/recipe_parts.h"

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/derived_values.h"
#include "paceline/base/error.h"
#include "paceline/config/bind.h"
#include "paceline/config/load.h"
#include "paceline/config/parse.h"
#include "paceline/nn/network_parts.h"
#include "unit/app/own_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class RecipePartsTest : public ::testing::Test {
 protected:
  RecipePartsTest() { registries_->tasks.add<OwnTaskConfig>(); }

  /// A recipe with a task that wants this number of outputs, and with options of a small model.
  config::Loaded<Recipe> load(const std::string& num_outputs, const std::string& model = "") const {
    const std::string yaml =
        "task: {name: own_task, num_outputs: " + num_outputs +
        "}\nmodel: {name: vit, img_size: 8, patch_size: 4, embed_dim: 8, depth: 1, num_heads: 2" +
        model + "}\n";
    config::Loaded<Recipe> loaded;
    loaded.written = config::parse_yaml(yaml, "r.yaml");
    loaded.value = config::bind<Recipe>(loaded.written, {registries_->catalogs(), 0});
    return loaded;
  }
  std::optional<int> wanted(const config::Loaded<Recipe>& loaded) const {
    return num_outputs_of_task(loaded.value, loaded.written, *registries_);
  }
  std::optional<std::int64_t> made(const config::Loaded<Recipe>& loaded) const {
    RecipeParts parts(loaded.value, *registries_);
    return nn::num_outputs(registries_->tasks.build(loaded.value.task, parts)->network());
  }

  std::unique_ptr<Registries> registries_ = make_registries();
};

TEST_F(RecipePartsTest, ATaskMayWantItsOwnNumberOfOutputs) {
  EXPECT_EQ(wanted(load("1")), 1);
  EXPECT_EQ(made(load("1")), 1);
  EXPECT_EQ(wanted(load("null")), std::nullopt);
  EXPECT_EQ(made(load("null")), 1000);
  EXPECT_EQ(made(load("null", ", num_classes: 3")), 3);
}

TEST_F(RecipePartsTest, ARecipeMayNotContradictIt) {
  EXPECT_EQ(wanted(load("1", ", num_classes: 1")), 1);
  EXPECT_THAT([&] { wanted(load("1", ", num_classes: 1000")); },
              ThrowsMessage<base::ConfigError>(
                  "model.num_classes is 1000, and task own_task needs a network of 1 outputs, "
                  "whatever the data: take the key out"));
}

TEST_F(RecipePartsTest, ItIsOneNumber) {
  const auto loaded = load("1");
  RecipeParts parts(loaded.value, *registries_);
  parts.make_network(3);
  parts.make_network();
  EXPECT_EQ(parts.num_outputs(), 3);
  EXPECT_THAT([&] { parts.make_network(4); },
              ThrowsMessage<base::ConfigError>(HasSubstr("networks of 3 and of 4 outputs")));
}

TEST_F(RecipePartsTest, AModelWithoutSuchAnOptionIsRefused) {
  config::Loaded<Recipe> loaded = load("1");
  loaded.value.model.network.name = "line";
  static const config::StructInfo info{};
  loaded.value.model.network.info = &info;
  EXPECT_THAT([&] { wanted(loaded); },
              ThrowsMessage<base::ConfigError>(
                  AllOf(HasSubstr("model.name: task own_task"), HasSubstr("line has no "))));
}

TEST_F(RecipePartsTest, ItIsToldWithItsSource) {
  const auto loaded = load("1");
  const auto derived = derived_values(loaded.value, loaded.written, *registries_);
  EXPECT_EQ(derived.at(kNumClasses), "from task own_task: 1");
}

}  // namespace
}  // namespace paceline::app
