#include "paceline/launcher/measured_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

using ::testing::IsSupersetOf;

TEST(MeasuredRun, TrainsSoManyStepsAndSavesNothing) {
  const QuietRun start = start_of({.recipe = {"recipe.yaml", "optimizer.lr=1"},
                                   .phase = "whole",
                                   .num_steps = 7,
                                   .folder = "scratch/one",
                                   .overrides_on_top = {"+algorithms.mixup"},
                                   .launch_options = {"--nproc", "2"}});
  EXPECT_EQ(start.command.at(1), "train");
  EXPECT_EQ(start.command.at(2), "recipe.yaml");
  EXPECT_THAT(start.command,
              IsSupersetOf({"optimizer.lr=1", "train.duration=7ba", "checkpoint.every=null",
                            "+algorithms.mixup", "--only-phase", "whole", "--run-dir",
                            "scratch/one", "--nproc", "2"}));
  EXPECT_EQ(start.log, "scratch/one.log");
}

}  // namespace
}  // namespace paceline::launcher
