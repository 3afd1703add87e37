#include "paceline/app/recipe/guide_json/guide_recipe.h"

#include "guide_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(GuideRecipe, IsKnownByItsStages) {
  EXPECT_TRUE(is_guide_document(config::parse_json(guide_document(), "f")));
  EXPECT_TRUE(is_guide_document(config::parse_json(R"({"stages": []})", "f")));
  EXPECT_FALSE(is_guide_document(config::parse_json(R"({"train": {}, "data": {}})", "f")));
  EXPECT_FALSE(is_guide_document(config::parse_json("[1]", "f")));
}

TEST(GuideRecipe, HasNoKeysLeftAndOnlySectionsOfARecipe) {
  const GuideText text(guide_document(R"("batch_size": 2)", R"("augmentation": true)"));
  EXPECT_EQ(text.problems(), "");
  for (const char* section : {"model", "phases", "data", "train", "optimizer", "schedule",
                              "algorithms", "task", "checkpoint"})
    EXPECT_NE(text.at(section), "absent") << section;
  EXPECT_THAT(GuideText(guide_document("", "", R"(, "xray": {}, "training_": 1)")).problems(),
              AllOf(HasSubstr("xray: has no meaning here"),
                    HasSubstr("training_: has no meaning here: did you mean training?")));
}

}  // namespace
}  // namespace paceline::app
