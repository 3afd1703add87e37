#include "paceline/launcher/sweep/sweep_state.h"

#include "paceline/base/error.h"
#include "paceline/config/parse.h"
#include "unit/launcher/sweep/small_sweep.h"

#include <gmock/gmock.h>

namespace paceline::launcher {
namespace {

using test::done_with;
using test::failed_with;
using test::small_grid;
using test::small_halving;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

SweepOptions options_for_plan(std::vector<std::string> more) {
  more.insert(more.begin(), {"recipe.yaml", "optimizer.lr=log(0.1,1)"});
  return parse_sweep_options(more);
}

TEST(SweepStateTest, TheBestOfARungGoOn) {
  Sweep sweep = small_halving();
  EXPECT_EQ(members_of_rung(sweep, 0).size(), 9);
  for (std::size_t i = 0; i < 9; ++i)
    sweep.records[i] = done_with({0.1 * static_cast<double>(i % 5)});
  sweep.records[4] = failed_with(6);
  EXPECT_THAT(members_of_rung(sweep, 1), ElementsAre(3, 8, 2)) << "of equals the first";
  sweep.records[3].metrics.push_back(0.4);
  sweep.records[8].metrics.push_back(0.5);
  sweep.records[2] = failed_with(6, {0.2});
  EXPECT_THAT(members_of_rung(sweep, 1), ElementsAre(3, 8, 2))
      << "one that fails later makes no room for another";
  EXPECT_THAT(members_of_rung(sweep, 2), ElementsAre(8));
  EXPECT_THAT(ranking(sweep), ElementsAre(8, 3, 7, 1, 6, 0, 5)) << "a higher rung comes first";
  sweep.goal->is_less_better = true;
  EXPECT_THAT(members_of_rung(sweep, 2), ElementsAre(3));
}

TEST(SweepStateTest, IsWrittenAndReadBack) {
  Sweep sweep = small_grid();
  sweep.recipe = config::parse_yaml("optimizer: {lr: 0.1}", "r");
  sweep.records[0] = done_with({0.25});
  sweep.records[1] = failed_with(6);
  sweep.records[3] = done_with({0.5});
  const std::string text = to_json(sweep);
  const SavedSweep saved = read_sweep(text, "sweep.json");
  EXPECT_EQ(saved.records, sweep.records);
  EXPECT_EQ(saved.plan, sweep.plan);
  EXPECT_EQ(saved.goal, sweep.goal);
  EXPECT_TRUE(config::same_value(saved.recipe, sweep.recipe));
  EXPECT_THAT(text, HasSubstr("\"best\": 4"));
  EXPECT_THAT(text, HasSubstr("\"run\": \"trials/0004\""));
  sweep.goal.reset();
  EXPECT_EQ(read_sweep(to_json(sweep), "sweep.json").goal, std::nullopt);
}

TEST(SweepStateTest, WhatIsNoSweepIsRefused) {
  for (const char* text :
       {"{", "{}", "[]", R"({"format": 2})", R"({"format": 1, "plan": {"a": 1}})"})
    EXPECT_THAT([&] { read_sweep(text, "DIR/sweep.json"); },
                ThrowsMessage<base::CheckpointError>(HasSubstr("DIR/sweep.json")))
        << text;
}

TEST(SweepStateTest, GoesOnWithTheSamePlanAlone) {
  const auto plan = [](const std::vector<std::string>& more) {
    return plan_of(options_for_plan(more));
  };
  const auto before = plan({"--trials", "5", "a=1"});
  require_same_plan(before, plan({"--trials", "5", "a=1", "--jobs", "2", "--retry-failed"}),
                    Strategy::kRandom);
  require_same_plan(before, plan({"--trials", "8", "a=1"}), Strategy::kRandom);
  const auto expect_refused = [&](const std::vector<std::string>& more, Strategy strategy,
                                  const char* text) {
    EXPECT_THAT([&] { require_same_plan(before, plan(more), strategy); },
                ThrowsMessage<base::ConfigError>(HasSubstr(text)));
  };
  expect_refused({"--trials", "4", "a=1"}, Strategy::kRandom, "trials was 5, is 4");
  expect_refused({"--trials", "8", "a=1"}, Strategy::kHalving, "trials was 5, is 8");
  expect_refused({"--trials", "5", "a=2"}, Strategy::kRandom, "overrides was a=1, is a=2");
  expect_refused({"--trials", "5", "a=1", "--seed", "3"}, Strategy::kRandom, "seed was 0, is 3");
  expect_refused({"--trials", "5", "a=1", "b=1,2"}, Strategy::kRandom, "b was nothing, is 1,2");
  expect_refused({"--trials", "5", "a=1", "--metric", "val/loss"}, Strategy::kRandom,
                 "metric was the recipe's, is val/loss");
}

TEST(SweepStateTest, AnAblationTellsDifferences) {
  Sweep sweep{.strategy = Strategy::kAblation, .goal = MetricGoal{.metric = "val/top1"}};
  sweep.parts = {{"ema", {"~algorithms.ema"}}};
  sweep.trials = ablation_trials(sweep.parts, 0, 2);
  sweep.rungs = {{.duration = "", .work = 1, .num_trials = 4}};
  sweep.records = {done_with({0.8}), done_with({0.7}), done_with({0.6}), failed_with(6)};
  const std::vector<AblationRow> rows = ablation_of(sweep);
  EXPECT_NEAR(rows[0].metric_delta->mean, 0.1, 1e-12);
  EXPECT_EQ(rows[0].metric_delta->count, 1);
  EXPECT_THAT(to_json(sweep), HasSubstr("\"part\": \"ema\""));
}

}  // namespace
}  // namespace paceline::launcher
