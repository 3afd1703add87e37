#include "paceline/app/assembly/assembly.h"

#include <utility>

namespace paceline::app {

std::vector<std::unique_ptr<train::Algorithm>> make_algorithms(const Recipe& recipe,
                                                               const Registries& registries) {
  std::vector<std::unique_ptr<train::Algorithm>> algorithms;
  for (const auto& [name, component] : recipe.algorithms)
    algorithms.push_back(registries.algorithms.build(component));
  return algorithms;
}

std::vector<std::unique_ptr<train::Callback>> make_callbacks(const Recipe& recipe,
                                                             const Registries& registries) {
  std::vector<std::unique_ptr<train::Callback>> callbacks;
  for (const auto& [name, component] : recipe.callbacks)
    callbacks.push_back(registries.callbacks.build(component));
  return callbacks;
}

std::unique_ptr<train::Engine> make_engine_of_algorithms(const Recipe& recipe,
                                                         const Registries& registries) {
  return std::make_unique<train::Engine>(make_algorithms(recipe, registries),
                                         std::vector<std::unique_ptr<train::Callback>>());
}

void change_network(train::TrainState& state, train::Engine& engine, const train::RunContext& run) {
  engine.fire(train::Event::kInit, state, run);
}

void lay_out(train::TrainState& state, train::Engine& engine, const train::RunContext& run,
             std::span<const optim::GroupRule> rules, const parallel::FillValues& values) {
  change_network(state, engine, run);
  state.strategy->prepare(state.task->network(), rules, values);
}

void add_training_state(train::TrainState& state, train::Engine& engine,
                        const train::RunContext& run, const optim::OptimizerPlan& plan) {
  state.optimizer = plan.make(state.strategy->param_groups(), state.strategy->parameter_shards());
  engine.fire(train::Event::kPrepared, state, run);
}

}  // namespace paceline::app
