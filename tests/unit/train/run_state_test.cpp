#include "paceline/train/run_state.h"

#include "paceline/base/error.h"
#include "unit/train/scripted_run.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using paceline::test::Calls;
using paceline::test::RecordingOptimizer;

TrainState new_state(Calls& calls) {
  TrainState state;
  state.optimizer = std::make_unique<RecordingOptimizer>(calls);
  return state;
}

TrainState trained_state(Calls& calls) {
  TrainState state = new_state(calls);
  state.clock.step = 7;
  state.clock.samples = 55;
  state.clock.elapsed_s = 12.5;
  state.skipped = {.of_epoch = 2, .of_run = 9};
  state.last_eval = {{"val/loss", 0.5}, {"val/top1", 0.75}};
  state.last_eval_step = 6;
  state.is_eval_pending = true;
  state.wants_fresh_statistics = true;
  state.optimizer->set_num_steps(7);
  return state;
}

TEST(RunState, ComesBackWhole) {
  Calls calls;
  Engine engine({}, {});
  const TrainState saved = trained_state(calls);
  // Through text, as in a manifest.
  const auto json = nlohmann::json::parse(state_dict(saved, engine).dump());
  TrainState loaded = new_state(calls);
  load_state_dict(json, loaded, engine);
  EXPECT_EQ(loaded.clock.step, 7);
  EXPECT_EQ(loaded.clock.samples, 55);
  EXPECT_EQ(loaded.clock.elapsed_s, 12.5);
  EXPECT_EQ(loaded.skipped.of_epoch, 2);
  EXPECT_EQ(loaded.skipped.of_run, 9);
  EXPECT_EQ(loaded.last_eval, saved.last_eval);
  EXPECT_EQ(loaded.last_eval_step, 6);
  EXPECT_TRUE(loaded.is_eval_pending);
  EXPECT_TRUE(loaded.wants_fresh_statistics);
  EXPECT_EQ(loaded.optimizer->num_steps(), 7);
}

TEST(RunState, TheLossScaleComesBackUnlessTheRunHadNone) {
  Calls calls;
  Engine engine({}, {});
  TrainState saved = trained_state(calls);
  saved.scaler.emplace(optim::GradScalerConfig{});
  saved.scaler->update(true);
  const auto json = nlohmann::json::parse(state_dict(saved, engine).dump());
  TrainState loaded = new_state(calls);
  loaded.scaler.emplace(optim::GradScalerConfig{});
  load_state_dict(json, loaded, engine);
  EXPECT_EQ(loaded.scaler->scale(), 32768.0);
  EXPECT_EQ(loaded.scaler->num_skipped(), 1);
  TrainState changed = new_state(calls);  // to fp16
  changed.scaler.emplace(optim::GradScalerConfig{});
  load_state_dict(state_dict(trained_state(calls), engine), changed, engine);
  EXPECT_EQ(changed.scaler->scale(), 65536.0);
}

TEST(RunState, AMetricThatIsNotFiniteIsKept) {
  Calls calls;
  Engine engine({}, {});
  TrainState state = trained_state(calls);
  state.last_eval["val/loss"] = std::numeric_limits<double>::quiet_NaN();
  TrainState loaded = new_state(calls);
  load_state_dict(state_dict(state, engine), loaded, engine);  // a manifest keeps such numbers
  EXPECT_EQ(loaded.last_eval.at("val/top1"), 0.75);
  EXPECT_TRUE(std::isnan(loaded.last_eval.at("val/loss")));
}

TEST(RunState, EveryPartMustBeThereThatOlderCheckpointsHave) {
  Calls calls;
  Engine engine({}, {});
  const nlohmann::json whole = state_dict(trained_state(calls), engine);
  for (const auto& [key, value] : whole.items()) {
    nlohmann::json part = whole;
    part.erase(key);
    TrainState state = new_state(calls);
    if (key == "wants_fresh_statistics") {
      load_state_dict(part, state, engine);
      EXPECT_FALSE(state.wants_fresh_statistics);
      continue;
    }
    EXPECT_THROW(load_state_dict(part, state, engine), base::CheckpointError) << key;
  }
}

}  // namespace
}  // namespace paceline::train
