#include "paceline/train/train_state.h"

#include "unit/train/scripted_run.h"

#include <concepts>

#include <gtest/gtest.h>

namespace paceline::train {
namespace {

// What may be done with a state that is given, and not with one that is given const.
template <class State>
concept CanTrain = requires(State& state) {
  state.task->set_training(true);
}
|| requires(State& state) {
  { state.task->network() } -> std::same_as<nn::Network&>;
}
|| requires(State& state) { state.strategy->finish_gradients(); }
|| requires(State& state) { state.strategy->state_was_loaded(); }
|| requires(State& state) { state.strategy->set_trainable({}); }
|| requires(State& state) { state.strategy->update(*state.optimizer, 0.1); }
|| requires(State& state) { state.optimizer->step(0.1); }
|| requires(State& state) { state.optimizer->set_num_steps(0); }
|| requires(State& state) { state.optimizer.reset(); }
|| requires(State& state) { state.clock.step = 1; };
static_assert(CanTrain<TrainState>);
static_assert(!CanTrain<const TrainState>);

template <class State>
concept CanAsk = requires(State& state) {
  { state.task->network() } -> std::convertible_to<const nn::Network&>;
  state.task->metrics();
  state.strategy->name();
  state.strategy->model_state();
  state.strategy->optimizer_state(*state.optimizer);
  state.optimizer->num_steps();
};
static_assert(CanAsk<const TrainState>);

TEST(TrainState, IsConstantInAllItsParts) {
  paceline::test::Calls calls;
  TrainState state;
  state.task = std::make_unique<paceline::test::ScriptedTask>();
  state.optimizer = std::make_unique<paceline::test::RecordingOptimizer>(calls);
  state.optimizer->set_num_steps(3);
  const TrainState& seen = state;
  EXPECT_EQ(seen.optimizer->num_steps(), 3);
  EXPECT_EQ(&seen.task->network(), &state.task->network());
}

}  // namespace
}  // namespace paceline::train
