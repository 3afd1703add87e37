#include "paceline/app/phase_run.h"

#include "paceline/app/recipe/builtin.h"
#include "paceline/models/builtin.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

class PhaseRunTest : public ::testing::Test {
 protected:
  LoadedRecipe load(const std::string& recipe,
                    const std::vector<std::string>& overrides = {}) const {
    return load_recipe(folder_.write("loaded.yaml", recipe), overrides, *registries_, 1);
  }

  paceline::test::TempFolder folder_;
  std::unique_ptr<Registries> registries_ = make_registries();
};

TEST_F(PhaseRunTest, TheModelHasAsManyClassesAsTheData) {
  const std::string data = "data: {name: synthetic, num_classes: 7}\n";
  for (const char* model : {"", "model:\n", "model: resnet18\n", "model: {name: resnet18}\n"}) {
    const LoadedRecipe loaded = load(data + model);
    EXPECT_EQ(loaded.recipe.model.network.as<models::ResNetConfig>().num_classes, 7) << model;
    EXPECT_EQ(loaded.resolved.find_path("model.num_classes")->text, "7") << model;
  }
  const LoadedRecipe written = load(data, {"model.num_classes=9"});
  EXPECT_EQ(written.recipe.model.network.as<models::ResNetConfig>().num_classes, 9);
}

TEST_F(PhaseRunTest, ALossMayWeighClassesByTheTrainingSamples) {
  const std::string data =
      "data: {name: synthetic, num_samples: 9, num_classes: 3}\nmodel: {num_classes: 3}\n";
  for (const char* loss : {"", "loss:\n", "loss: cross_entropy\n", "loss: {name: focal}\n"}) {
    const LoadedRecipe balanced = load(data + loss, {"++loss.balance_classes=true"});
    EXPECT_EQ(balanced.resolved.find_path("loss.class_weights")->items.size(), 3) << loss;
    EXPECT_NE(balanced.train_set, nullptr) << "and need not be opened again";
  }
  const LoadedRecipe written =
      load(data, {"loss.balance_classes=true", "loss.class_weights=[1, 2, 3]"});
  EXPECT_EQ(written.resolved.find_path("loss.class_weights")->items.back().text, "3");
  EXPECT_EQ(load(data).train_set, nullptr);
}

TEST_F(PhaseRunTest, ARunLiesWhereItsRecipeSays) {
  const Recipe recipe =
      load("run: {name: blue, dir: there}\ndata: {name: synthetic}\ncheckpoint: {every: null}\n")
          .recipe;
  const RunPlace place = place_of(recipe, std::nullopt, /*is_scratch=*/true);
  EXPECT_EQ(place.name, "blue");
  EXPECT_TRUE(place.parent.ends_with("there"));
  EXPECT_FALSE(place.saves);
  EXPECT_TRUE(place.is_scratch);
  EXPECT_EQ(place_of(recipe, "here", false).wanted, "here");
}

}  // namespace
}  // namespace paceline::app
