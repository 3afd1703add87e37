#include "paceline/launcher/sweep/sweep_options.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>

namespace paceline::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(SweepOptionsTest, ListsAreAGridAndDrawsAreDrawn) {
  const SweepOptions grid =
      parse_sweep_options({"optimizer.lr=1,2", "recipe.yaml", "a=1", "--jobs=2"});
  EXPECT_EQ(grid.recipe, "recipe.yaml");
  EXPECT_EQ(grid.strategy, Strategy::kGrid);
  EXPECT_EQ(grid.num_jobs, 2);
  EXPECT_THAT(grid.space.fixed, ElementsAre("a=1"));
  const SweepOptions random =
      parse_sweep_options({"r", "a=log(1,2)", "--trials", "5", "--seed", "18446744073709551615"});
  EXPECT_EQ(random.strategy, Strategy::kRandom);
  EXPECT_EQ(random.num_trials, 5);
  EXPECT_EQ(random.seed, 18446744073709551615u);
}

TEST(SweepOptionsTest, HalvingIsOfAGridOrOfDraws) {
  const SweepOptions grid =
      parse_sweep_options({"r", "a=1,2", "--strategy", "halving", "--min-duration", "1ep"});
  EXPECT_EQ(grid.num_trials, 0);
  EXPECT_EQ(grid.reduction_factor, 3);
  const SweepOptions drawn =
      parse_sweep_options({"r", "a=1,2", "--strategy=halving", "--min-duration=1ep",
                           "--max-duration=8ep", "--trials=9", "--reduction-factor=2"});
  EXPECT_EQ(drawn.num_trials, 9);
  EXPECT_EQ(drawn.reduction_factor, 2);
  EXPECT_EQ(drawn.max_duration, "8ep");
}

TEST(SweepOptionsTest, AnAblationNamesItsParts) {
  const SweepOptions all = parse_sweep_options({"--ablate", "r", "--seeds", "5"});
  EXPECT_EQ(all.strategy, Strategy::kAblation);
  EXPECT_EQ(all.recipe, "r");
  EXPECT_EQ(all.num_seeds, 5);
  EXPECT_THAT(parse_sweep_options({"r", "--ablate=ema", "--ablate=a=1"}).ablated,
              ElementsAre("ema", "a=1"));
}

TEST(SweepOptionsTest, LaunchOptionsAreThoseOfTrials) {
  const SweepOptions options =
      parse_sweep_options({"r", "a=1,2", "--nproc_per_node", "2", "--grace", "7", "--metric",
                           "val/loss", "--mode", "min", "--sweep-dir", "s"});
  EXPECT_THAT(options.launch_options, ElementsAre("--nproc", "2", "--grace", "7"));
  EXPECT_EQ(options.num_ranks, 2);
  EXPECT_EQ(options.metric, "val/loss");
  EXPECT_EQ(options.is_less_better, true);
  EXPECT_EQ(options.folder, "s");
  EXPECT_EQ(parse_sweep_options({"r", "a=1,2", "--nproc", "auto"}).num_ranks, 0);
}

TEST(SweepOptionsTest, WhatMakesNoSenseIsRefused) {
  const auto expect_error = [](const std::vector<std::string>& arguments, const char* text) {
    EXPECT_THAT([&] { parse_sweep_options(arguments); },
                ThrowsMessage<base::ConfigError>(HasSubstr(text)));
  };
  expect_error({"a=1,2"}, "sweep wants a recipe");
  expect_error({"r"}, "sweep wants a key with several values");
  expect_error({"r", "s", "a=1,2"}, "a sweep is of one recipe, but there are r and s");
  expect_error({"r", "a=1,2", "--strategy", "bayes"}, "grid, random or halving");
  expect_error({"r", "a=1,2", "--strategy", "random"}, "--trials N");
  expect_error({"r", "a=log(1,2)"}, "--trials N");
  expect_error({"r", "a=1,2", "--trials", "3"}, "a grid has all combinations");
  expect_error({"r", "a=1,2", "--seed", "3"}, "--seed is that of draws");
  expect_error({"r", "a=1,2", "--seed", "x"}, "--seed wants a whole number");
  expect_error({"r", "a=1,2", "--mode", "up"}, "--mode wants min or max");
  expect_error({"r", "a=1,2", "--jobs", "0"}, "--jobs");
  expect_error({"r", "a=1,2", "--jobs"}, "--jobs wants a value");
  expect_error({"r", "a=1,2", "--strategy", "halving"}, "halving wants --min-duration");
  expect_error({"r", "a=1,2", "--strategy", "halving", "--min-duration", "2h"}, "whole epochs");
  expect_error({"r", "train.duration=1ep,2ep", "--strategy", "halving", "--min-duration", "1ep"},
               "leave train.duration out");
  expect_error({"r", "a=1,2", "--max-duration", "9ep"}, "are for --strategy halving");
  expect_error({"r", "--ablate", "--strategy", "grid"}, "--ablate is a strategy of its own");
  expect_error({"r", "--ablate", "a=1,2"}, "give other keys one value each");
  expect_error({"r", "a=1,2", "--seeds", "3"}, "run.seed=1,2,3");
  expect_error({"r", "a=1,2", "--detach"}, "nohup or setsid");
  expect_error({"r", "a=1,2", "--nnodes", "2"}, "trials run on this machine");
  expect_error({"r", "a=1,2", "--job", "2"}, "did you mean --jobs?");
  expect_error({"r", "a=1,2", "--run-dir", "x"}, "--sweep-dir");
  expect_error({"r", "a=1,2", "--n-trials", "3"}, "write --trials");
}

}  // namespace
}  // namespace paceline::launcher
