// The slow weights of N ranks are those of one, whatever the strategy, and so is a training that
// goes on with them.

#include "paceline/algorithms/lookahead/lookahead.h"
#include "rank/algorithms/averaged_training.h"
#include "support/run_ranks.h"

#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using paceline::test::AveragedTraining;
using paceline::test::expect_near;
using paceline::test::run_ranks;
using paceline::test::Values;
using paceline::test::values_of_one_rank;

std::unique_ptr<train::Algorithm> make_lookahead() {
  return make(LookaheadConfig{.interval = {3, config::TimeUnit::kBatch}, .decay_power = 0.5});
}

TEST(LookaheadOnRanks, IsThatOfOneRankUnderEveryStrategy) {
  const Values wanted = values_of_one_rank(make_lookahead, 10);
  for (const auto& [name, make] : test::main_strategies()) {
    SCOPED_TRACE(name);
    for (const int world_size : {2, 4}) {
      run_ranks(world_size, [&, &make = make](comm::Communicator& ranks) {
        AveragedTraining training(make, ranks, make_lookahead);
        training.train(10);
        expect_near(training.averages(), wanted);
        expect_near(training.weights(), wanted);
      });
    }
  }
}

TEST(LookaheadOnRanks, GoesOnUnderAnyStrategyAndNumberOfRanks) {
  const Values saved = values_of_one_rank(make_lookahead, 5);
  const Values wanted = values_of_one_rank(make_lookahead, 10);
  for (const auto& [name, make] : test::main_strategies()) {
    SCOPED_TRACE(name);
    run_ranks(4, [&, &make = make](comm::Communicator& ranks) {
      AveragedTraining training(make, ranks, make_lookahead);
      training.load(saved, 5, nlohmann::json{{"is_started", true}});
      training.train(5);
      expect_near(training.averages(), wanted);
      expect_near(training.weights(), wanted);
    });
  }
}

}  // namespace
}  // namespace paceline::algorithms
