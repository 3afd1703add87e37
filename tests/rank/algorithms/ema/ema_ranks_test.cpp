// The average of N ranks is that of one, whatever the strategy, and goes from one to the other.

#include "paceline/algorithms/ema/ema.h"
#include "rank/algorithms/averaged_training.h"
#include "support/run_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using paceline::test::AveragedTraining;
using paceline::test::expect_near;
using paceline::test::run_ranks;
using paceline::test::Values;
using paceline::test::values_of_one_rank;

std::unique_ptr<train::Algorithm> make_ema() {
  return make(EmaConfig{.half_life = {{3, config::TimeUnit::kBatch}}});
}

TEST(EmaOnRanks, IsThatOfOneRankUnderEveryStrategy) {
  paceline::test::expect_those_of_one_rank(make_ema, 7);
}

TEST(EmaOnRanks, SwapsWhatForwardPassesSee) {
  const Values of_one = values_of_one_rank(make_ema, 7);
  Values averages;  // by the names of the weights
  for (const auto& [name, value] : of_one) {
    if (const auto slash = name.find("algorithms.ema/"); slash == 0)
      averages[name.substr(std::string("algorithms.ema/").size())] = value;
  }
  for (const auto& [name, make] : test::main_strategies()) {
    SCOPED_TRACE(name);
    run_ranks(2, [&, &make = make](comm::Communicator& ranks) {
      AveragedTraining training(make, ranks, make_ema);
      training.train(7);
      training.swap();
      expect_near(training.weights(), averages);
      training.swap();
      expect_near(training.weights(), of_one);
      training.train(1);
      expect_near(training.averages(), values_of_one_rank(make_ema, 8));
    });
  }
}

TEST(EmaOnRanks, GoesOnUnderAnyStrategyAndNumberOfRanks) {
  paceline::test::expect_going_on(make_ema, {{"is_started", true}}, 4);
}

}  // namespace
}  // namespace paceline::algorithms
