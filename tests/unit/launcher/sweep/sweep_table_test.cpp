#include "paceline/launcher/sweep/sweep_table.h"

#include "unit/launcher/sweep/small_sweep.h"

#include <gmock/gmock.h>

namespace paceline::launcher {
namespace {

using test::done_with;
using test::failed_with;
using ::testing::ElementsAre;

Sweep half_done_grid() {
  Sweep sweep = test::small_grid();
  sweep.records[0] = done_with({0.25});
  sweep.records[1] = failed_with(6);
  sweep.records[3] = done_with({0.5});
  return sweep;
}

TEST(SweepTableTest, TheBestComesFirst) {
  EXPECT_THAT(trial_table(half_done_grid()),
              ElementsAre("trial  optimizer.lr     model  val/top1    time  ms/step",
                          "    4           0.2  resnet18    0.5000  12.0 s     2.50",
                          "    1           0.1       vit    0.2500  12.0 s     2.50",
                          "    2           0.1  resnet18         -       -        -"
                          "  failed (6): the loss, \"it\" is not finite",
                          "    3           0.2       vit         -       -        -"
                          "  not trained yet"));
}

TEST(SweepTableTest, HalvingTellsHowFarEachGot) {
  Sweep sweep = test::small_halving();
  sweep.records[0] = done_with({0.1, 0.2});
  EXPECT_EQ(trial_table(sweep)[1], "    1             1      3ep    0.2000  12.0 s     2.50");
}

TEST(SweepTableTest, CsvIsByNumberAndQuoted) {
  EXPECT_EQ(
      trial_csv(half_done_grid()),
      "trial,optimizer.lr,model,trained,val/top1,elapsed_s,step_ms,state,exit_code,error,run\n"
      "1,0.1,vit,,0.25,12,2.5,done,0,,trials/0001\n"
      "2,0.1,resnet18,,,0,,failed,6,\"the loss, \"\"it\"\" is not finite\",trials/0002\n"
      "3,0.2,vit,,,0,,waiting,0,,trials/0003\n"
      "4,0.2,resnet18,,0.5,12,2.5,done,0,,trials/0004\n");
}

TEST(SweepTableTest, AnAblationTellsDifferencesWithTheirErrors) {
  Sweep sweep{.strategy = Strategy::kAblation, .goal = MetricGoal{.metric = "val/top1"}};
  sweep.parts = {{"ema", {"~algorithms.ema"}}, {"mixup", {"~algorithms.mixup"}}};
  sweep.trials = ablation_trials(sweep.parts, 0, 2);
  sweep.rungs = {{.duration = "", .work = 1, .num_trials = 6}};
  sweep.records = {done_with({0.8}), done_with({0.75}), done_with({0.5}),
                   done_with({0.6}), done_with({0.65}), failed_with(6)};
  EXPECT_THAT(
      ablation_table(sweep),
      ElementsAre(" part  seeds   whole  without  val/top1 difference  ms/step difference",
                  "  ema      2  0.7000   0.7000    +0.0000 +- 0.0500       +0.00 +- 0.00",
                  "mixup      1  0.8000   0.5000         +0.3000 +- ?          +0.00 +- ?"));
  EXPECT_THAT(ablation_csv(sweep),
              testing::StartsWith("part,seeds,whole,without,metric_difference,"));
  sweep.records.assign(6, TrialRecord{});
  EXPECT_THAT(ablation_csv(sweep), testing::HasSubstr("\nema,0,,,,,,\n"));
}

}  // namespace
}  // namespace paceline::launcher
