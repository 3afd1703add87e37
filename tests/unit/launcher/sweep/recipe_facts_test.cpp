#include "paceline/launcher/sweep/recipe_facts.h"

#include "paceline/config/parse.h"

#include <gmock/gmock.h>

namespace paceline::launcher {
namespace {

using ::testing::ElementsAre;

constexpr const char* kShownRecipe = R"(run: {name: first, seed: 3, dir: out}
train:
  duration: 2ep
  eval_every: null
algorithms:
  ema: {half_life: 10ba}
  mixup: {}
checkpoint:
  every: 1ep
  monitor: null  # the task's first metric
  mode: null
)";

TEST(RecipeFactsTest, AreReadFromAShownRecipe) {
  const RecipeFacts facts = read_recipe_facts(kShownRecipe);
  EXPECT_EQ(facts.run_dir, "out");
  EXPECT_EQ(facts.run_name, "first");
  EXPECT_EQ(facts.seed, 3);
  EXPECT_THAT(facts.algorithms, ElementsAre("ema", "mixup"));
  EXPECT_EQ(facts.duration, "2ep");
  EXPECT_EQ(facts.eval_every, std::nullopt);
  EXPECT_TRUE(facts.saves);
  EXPECT_EQ(facts.monitor, std::nullopt);
  EXPECT_EQ(facts.num_phases, 0);
}

TEST(RecipeFactsTest, OfPhasesTheLastCounts) {
  const RecipeFacts facts = read_recipe_facts(
      "---  # phase 1: head\nrun: {seed: 1}\n---  # phase 2: whole\nrun: {seed: 2}\n"
      "checkpoint: {every: null, monitor: val/loss, mode: min}\ntrain: {duration: [1ep, 2h]}\n");
  EXPECT_EQ(facts.num_phases, 2);
  EXPECT_EQ(facts.seed, 2);
  EXPECT_EQ(facts.monitor, "val/loss");
  EXPECT_EQ(facts.mode, "min");
  EXPECT_FALSE(facts.saves);
  EXPECT_EQ(facts.duration, std::nullopt) << "a list is not one length";
}

TEST(RecipeFactsTest, TheFirstDifferenceIsNamed) {
  const auto difference = [](const char* before, const char* after) {
    return first_difference(config::parse_yaml(before, "a"), config::parse_yaml(after, "b"));
  };
  EXPECT_EQ(difference("a: {b: 1, c: [1, 2]}", "a: {c: [1, 2], b: 1}  # other"), std::nullopt);
  EXPECT_EQ(difference("a: {b: 1}", "a: {b: 2}"), "a.b: was 1, is 2");
  EXPECT_EQ(difference("a: {b: 1}", "a: {}"), "a.b: was 1, is absent");
  EXPECT_EQ(difference("a: {}", "a: {b: 1}"), "a.b: was absent, is 1");
}

TEST(RecipeFactsTest, LessIsBetterOfLossesAndCalibrationErrors) {
  for (const char* name : {"val/loss", "val_ema/loss", "val/loss_p95", "val/ece"})
    EXPECT_TRUE(is_less_better_by_name(name)) << name;
  for (const char* name : {"val/top1", "val/loss_plus", "val/lossless"})
    EXPECT_FALSE(is_less_better_by_name(name)) << name;
}

}  // namespace
}  // namespace paceline::launcher
