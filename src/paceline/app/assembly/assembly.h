#pragma once

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/recipe.h"
#include "paceline/optim/optimizer_plan.h"
#include "paceline/parallel/strategy.h"
#include "paceline/train/engine.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <memory>
#include <vector>

namespace paceline::app {

/// What training, evaluation and the estimate of memory put together in the same way: a task, the
/// algorithms that change it, and a strategy that holds its parameters.

std::vector<std::unique_ptr<train::Algorithm>> make_algorithms(const Recipe& recipe,
                                                               const Registries& registries);
std::vector<std::unique_ptr<train::Callback>> make_callbacks(const Recipe& recipe,
                                                             const Registries& registries);

/// The recipe's algorithms and no callbacks.
std::unique_ptr<train::Engine> make_engine_of_algorithms(const Recipe& recipe,
                                                         const Registries& registries);

/// Algorithms change the network of the state's task. Every rank must call it.
void change_network(train::TrainState& state, train::Engine& engine, const train::RunContext& run);

/// That, then the state's strategy takes over the parameters, which `values` gives their first
/// values. Every rank must call it.
void lay_out(train::TrainState& state, train::Engine& engine, const train::RunContext& run,
             std::span<const optim::GroupRule> rules, const parallel::FillValues& values);

/// After lay_out(), for what is to be trained: the optimizer's state and the algorithms'.
void add_training_state(train::TrainState& state, train::Engine& engine,
                        const train::RunContext& run, const optim::OptimizerPlan& plan);

}  // namespace paceline::app
