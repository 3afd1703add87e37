#include "paceline/app/phase_run.h"

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
