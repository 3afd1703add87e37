#include "paceline/app/recipe/read_recipe.h"

#include "guide_json/guide_text.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/phases.h"
#include "paceline/base/error.h"
#include "paceline/models/ct_cascade/ct_cascade.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ReadRecipeTest : public ::testing::Test {
 protected:
  PhasedRecipe load(const std::string& json, const config::Overrides& overrides = {}) const {
    return load_phases(folder_.write("guide.json", json), overrides, registries_->context(1));
  }
  std::string refusal(const std::string& json, const config::Overrides& overrides = {}) const {
    try {
      load(json, overrides);
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "accepted";
  }

  paceline::test::TempFolder folder_;
  std::unique_ptr<Registries> registries_ = make_registries();
};

TEST_F(ReadRecipeTest, AGuidesJsonIsARecipeOfPhases) {
  const PhasedRecipe recipe =
      load("// for four GPUs\n" + guide_document(R"("batch_size": 8)", R"("augmentation": true)"));
  ASSERT_THAT(recipe.phases, SizeIs(2));
  const Phase& second = recipe.phases[1];
  EXPECT_EQ(second.name, "stage2");
  EXPECT_EQ(second.start_from, StartFrom::kBest);
  EXPECT_EQ(second.recipe.value.data.batch_size_per_rank, 8);
  const auto& model = second.recipe.value.model.network.as<models::CtCascadeConfig>();
  EXPECT_EQ(model.num_stages, 2);
  EXPECT_EQ(model.stages[1].patch, 8);
  EXPECT_THAT(recipe.phases[0].notes, SizeIs(1));
  EXPECT_THAT(second.notes, SizeIs(0));
}

TEST_F(ReadRecipeTest, OverridesAndVariablesAreOnTop) {
  setenv("GUIDE_DATA", "/scans", 1);
  const PhasedRecipe recipe =
      load(guide_document("", R"("dataset_path": "$GUIDE_DATA/ct")"),
           config::Overrides({"train.duration=3ba", "phases.stage2.task.physics_weight=0.9"}));
  EXPECT_EQ(recipe.written.find_path("data.path")->text, "/scans/ct");
  EXPECT_EQ(recipe.phases[0].recipe.value.train.duration.any_of[0].unit, config::TimeUnit::kBatch);
  EXPECT_EQ(recipe.written.find_path("phases.stage2.task.physics_weight")->text, "0.9");
  EXPECT_THAT(refusal(guide_document("", R"("dataset_path": "$GUIDE_ABSENT/ct")")),
              HasSubstr("GUIDE_ABSENT"));
}

TEST_F(ReadRecipeTest, ProblemsAreToldAtOnceWithTheirPlaces) {
  EXPECT_THAT(refusal(guide_document(R"("learning_rate": "fast", "bach_size": 3)")),
              AllOf(HasSubstr("2 problems"), HasSubstr("guide.json:6: optimizer.lr"),
                    HasSubstr("guide.json:6: training.bach_size: has no meaning here: did you mean "
                              "batch_size?")));
  EXPECT_THAT(refusal(guide_document("\"batch_size\": 8,")), HasSubstr("guide.json:6: not valid "
                                                                       "JSON"));
  EXPECT_THAT(refusal(guide_document("", "", R"(, "xray_config": {"num_views": 3,
                                     "view_types": ["frontal", "lateral"]})")),
              HasSubstr("num_views"));
}

TEST_F(ReadRecipeTest, OtherJsonIsARecipe) {
  EXPECT_FALSE(load(R"({"train": {"duration": "3ep",}})").has_phases());
}

TEST_F(ReadRecipeTest, TurnedXraysAreThoseOfThePreparedFolder) {
  const auto path = [&](bool is_flipped) {
    const std::string name = is_flipped ? "turned" : "plain";
    folder_.write(name + "/ct_manifest.json", std::string(R"({"xrays": {"flip_vertically": )") +
                                                  (is_flipped ? "true" : "false") + "}}");
    return (folder_.path() / name).string();
  };
  const auto document = [&](bool is_flipped, const std::string& flip) {
    return guide_document(
        "", "\"flip_drrs_vertical\": " + flip + ", \"dataset_path\": \"" + path(is_flipped) + "\"");
  };
  EXPECT_EQ(refusal(document(true, "true")), "accepted");
  EXPECT_EQ(refusal(document(false, "false")), "accepted");
  EXPECT_THAT(refusal(document(false, "true")),
              AllOf(HasSubstr("data.flip_drrs_vertical: is true, but "),
                    HasSubstr("SRC DST --flip-xrays-vertical` and name DST, or write false")));
  EXPECT_THAT(refusal(document(true, "false")), HasSubstr("was prepared with --flip-xrays"));
  EXPECT_EQ(refusal(document(false, "true"), config::Overrides({"data.path=/elsewhere"})),
            "accepted");
}

}  // namespace
}  // namespace paceline::app
