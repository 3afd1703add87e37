#include "paceline/app/assembly/assembly.h"

#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/nn/init.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

/// Renames nothing, but tells what it saw.
struct WitnessConfig {};

class Witness final : public train::Algorithm {
 public:
  explicit Witness(std::vector<std::string>& seen) : seen_(seen) {}
  std::string_view name() const override { return "witness"; }
  train::AlgorithmTraits traits() const override {
    return {.events = {train::Event::kInit, train::Event::kPrepared}};
  }
  void apply(train::Event event, train::TrainState& state, const train::RunContext&) override {
    seen_.push_back(event == train::Event::kInit ? "init" : "prepared");
    if (state.optimizer) seen_.back() += " with optimizer";
  }

 private:
  std::vector<std::string>& seen_;
};

}  // namespace
}  // namespace paceline::app

template <>
struct paceline::config::Schema<paceline::app::WitnessConfig> {
  static constexpr std::string_view name = "witness";
  static constexpr std::string_view summary = "Tells what it saw.";
  static constexpr auto fields = std::tuple{};
};

namespace paceline::app {
namespace {

TEST(Assembly, AlgorithmsActBeforeTheStrategyAndBesideTheOptimizer) {
  std::vector<std::string> seen;
  const auto registries = make_registries();
  registries->algorithms.add<WitnessConfig>(
      [&](const WitnessConfig&) { return std::make_unique<Witness>(seen); });
  const auto recipe = config::bind<Recipe>(
      config::parse_yaml("model: {name: vit, img_size: 8, patch_size: 4, embed_dim: 8, depth: 1, "
                         "num_heads: 2}\nalgorithms: {witness: }",
                         "test.yaml"),
      {registries->catalogs(), 1});
  const auto communicator = comm::make_fake_communicator(0, 1);
  const std::atomic<int> no_signal{0};
  const train::RunContext run{*communicator, {}, 1, {}, no_signal};
  train::TrainState state;
  state.task = make_task(recipe, *registries);
  state.strategy = make_strategy(recipe, *communicator, 1);
  const auto engine = make_engine_of_algorithms(recipe, *registries);
  const auto plan = registries->optimizers.build(recipe.optimizer);
  const auto zeros = [](const nn::NamedTensor& parameter) { nn::constant(parameter.tensor, 0.0); };
  lay_out(state, *engine, run, group_rules(*plan, state.task->network()), zeros);
  add_training_state(state, *engine, run, *plan);
  EXPECT_THAT(seen, ::testing::ElementsAre("init", "prepared with optimizer"));
}

}  // namespace
}  // namespace paceline::app
