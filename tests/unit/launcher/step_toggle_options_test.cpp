#include "paceline/launcher/step_toggle_options.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(StepToggleOptions, ARecipeAndAToggleAreEnough) {
  const StepToggleOptions options =
      parse_step_toggle_options({"recipe.yaml", "optimizer.lr=1", "--toggle=+algorithms.mixup"});
  EXPECT_THAT(options.recipe, ElementsAre("recipe.yaml", "optimizer.lr=1"));
  EXPECT_THAT(options.toggles, ElementsAre("+algorithms.mixup"));
  EXPECT_EQ(options.nproc, 1);
  EXPECT_EQ(options.phase, "") << "the first";
  EXPECT_FALSE(options.takes_median);
  EXPECT_FALSE(options.as_json);
}

TEST(StepToggleOptions, SeveralChangesMakeOneToggle) {
  const StepToggleOptions options = parse_step_toggle_options(
      {"--toggle", "+algorithms.sam", "--toggle", "algorithms.sam.interval=10", "recipe.yaml",
       "--nproc", "2", "--rounds=5", "--steps", "40", "--warm-up=1", "--phase", "whole", "--median",
       "--json"});
  EXPECT_THAT(options.recipe, ElementsAre("recipe.yaml"));
  EXPECT_THAT(options.toggles, ElementsAre("+algorithms.sam", "algorithms.sam.interval=10"));
  EXPECT_EQ(options.nproc, 2);
  EXPECT_EQ(options.rounds, 5);
  EXPECT_EQ(options.steps, 40);
  EXPECT_EQ(options.warm_up, 1);
  EXPECT_EQ(options.phase, "whole");
  EXPECT_TRUE(options.takes_median);
  EXPECT_TRUE(options.as_json);
}

TEST(StepToggleOptions, WhatMakesNoSenseIsRefused) {
  const auto expect_error = [](const std::vector<std::string>& arguments, const char* text) {
    EXPECT_THAT([&] { parse_step_toggle_options(arguments); },
                ThrowsMessage<base::ConfigError>(HasSubstr(text)));
  };
  expect_error({"--toggle", "a=1"}, "bench step wants a recipe");
  expect_error({"r"}, "--toggle KEY=VALUE");
  expect_error({"r", "--toggle"}, "--toggle wants a value");
  expect_error({"r", "--togle", "a=1"}, "did you mean --toggle?");
  expect_error({"r", "--toggle=a=1", "--rounds", "0"}, "--rounds");
  expect_error({"r", "--toggle=a=1", "--detach"}, "has no option --detach");
}

}  // namespace
}  // namespace paceline::launcher
