// The mean of N ranks is that of one, whatever the strategy, and so is a training that goes on with
// it.

#include "paceline/algorithms/swa/swa.h"
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

/// Takes weights after steps 2, 4, 6 and 8, and loads them after the last of these.
std::unique_ptr<train::Algorithm> make_swa() {
  return make(SwaConfig{.start = {2, config::TimeUnit::kBatch},
                        .end = {8, config::TimeUnit::kBatch},
                        .interval = {2, config::TimeUnit::kBatch}});
}

TEST(SwaOnRanks, IsThatOfOneRankUnderEveryStrategy) {
  const Values wanted = values_of_one_rank(make_swa, 10);
  for (const auto& [name, make] : test::main_strategies()) {
    SCOPED_TRACE(name);
    for (const int world_size : {2, 4}) {
      run_ranks(world_size, [&, &make = make](comm::Communicator& ranks) {
        AveragedTraining training(make, ranks, make_swa);
        training.train(10);
        expect_near(training.averages(), wanted);
        expect_near(training.weights(), wanted);
      });
    }
  }
}

TEST(SwaOnRanks, GoesOnUnderAnyStrategyAndNumberOfRanks) {
  const Values saved = values_of_one_rank(make_swa, 5);
  const Values wanted = values_of_one_rank(make_swa, 10);
  for (const auto& [name, make] : test::main_strategies()) {
    SCOPED_TRACE(name);
    run_ranks(4, [&, &make = make](comm::Communicator& ranks) {
      AveragedTraining training(make, ranks, make_swa);
      training.load(saved, 5, nlohmann::json{{"num_averaged", 2}, {"is_loaded", false}});
      training.train(5);
      expect_near(training.averages(), wanted);
      expect_near(training.weights(), wanted);
    });
  }
}

}  // namespace
}  // namespace paceline::algorithms
