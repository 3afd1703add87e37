#include "paceline/launcher/sweep/sweep_progress.h"

#include "unit/launcher/sweep/small_sweep.h"

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

TEST(SweepProgressTest, TellsTheBestAndTheTimeThatIsLeft) {
  Sweep sweep = test::small_grid();
  EXPECT_EQ(progress_text(sweep, {.num_running = 2}), "0/4 done, 2 running");
  sweep.records[1] = test::done_with({0.25});
  sweep.records[2] = test::failed_with(6);
  EXPECT_EQ(progress_text(sweep, {.num_running = 1, .work_done = 2, .elapsed_s = 30}),
            "2/4 done, 1 running; best val/top1 0.2500 of trial 2 (optimizer.lr=0.1 "
            "model=resnet18); 30.0 s left");
  EXPECT_EQ(trial_text(sweep, 1),
            "trial 2 (optimizer.lr=0.1 model=resnet18): val/top1 0.2500 after 12.0 s");
  EXPECT_EQ(trial_text(sweep, 2),
            "trial 3 (optimizer.lr=0.2 model=vit) failed with exit code 6: the loss, \"it\" is not "
            "finite");
}

TEST(SweepProgressTest, OfHalvingEachRungCounts) {
  Sweep sweep = test::small_halving();
  EXPECT_EQ(num_runs(sweep), 13);
  EXPECT_NEAR(work_left(sweep), 9.0 / 9 + 3 * 2.0 / 9 + 6.0 / 9, 1e-12);
  sweep.records[0] = test::done_with({0.1, 0.2});
  sweep.records[1] = test::failed_with(6, {0.1});
  EXPECT_EQ(num_ended(sweep), 4);
  EXPECT_NEAR(work_left(sweep), 7.0 / 9 + 1 * 2.0 / 9 + 6.0 / 9, 1e-12);
  EXPECT_EQ(trial_text(sweep, 0), "trial 1 (optimizer.lr=1): val/top1 0.2000 at 3ep after 12.0 s");
}

}  // namespace
}  // namespace paceline::launcher
