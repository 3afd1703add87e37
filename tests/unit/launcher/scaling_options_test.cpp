#include "paceline/launcher/scaling_options.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ScalingOptions, OneMachineNeedsNothingButARecipe) {
  const ScalingOptions options = parse_scaling_options({"recipe.yaml", "optimizer.lr=1"});
  EXPECT_THAT(options.recipe, ElementsAre("recipe.yaml", "optimizer.lr=1"));
  EXPECT_THAT(options.nproc, ElementsAre(1, 2));
  EXPECT_THAT(options.nnodes, ElementsAre(1));
  EXPECT_EQ(options.phase, "") << "the first";
}

TEST(ScalingOptions, APhaseIsNamedAsElsewhere) {
  EXPECT_EQ(parse_scaling_options({"r", "--phase", "whole"}).phase, "whole");
  EXPECT_EQ(parse_scaling_options({"--phase=whole", "r"}).phase, "whole");
}

TEST(ScalingOptions, SeveralMachinesMeetInTheLaunchersSpellings) {
  const ScalingOptions options =
      parse_scaling_options({"recipe.yaml", "--nnodes=1,2,4", "--nproc", "8", "--node_rank", "3",
                             "--rdzv", "host:29600"});
  EXPECT_THAT(options.nnodes, ElementsAre(1, 2, 4));
  EXPECT_EQ(options.node_rank, 3);
  EXPECT_EQ(options.master_addr, "host");
  EXPECT_EQ(options.master_port, 29600);
  EXPECT_EQ(parse_scaling_options({"r", "--nnodes=2", "--master-addr=h"}).master_port, 29500);
}

TEST(ScalingOptions, WhatMakesNoSenseIsRefused) {
  const auto expect_error = [](const std::vector<std::string>& arguments, const char* text) {
    EXPECT_THAT([&] { parse_scaling_options(arguments); },
                ThrowsMessage<base::ConfigError>(HasSubstr(text)));
  };
  expect_error({}, "wants a recipe");
  expect_error({"r", "--steps"}, "--steps wants a value");
  expect_error({"r", "--stps", "3"}, "did you mean --steps?");
  expect_error({"r", "--phases", "whole"}, "did you mean --phase?");
  expect_error({"r", "--nnodes", "2"}, "wants --rdzv");
  expect_error({"r", "--node-rank", "1"}, "machines count from 0");
  expect_error({"r", "--detach"}, "none of the other launch options");
}

}  // namespace
}  // namespace paceline::launcher
