// The mean of N ranks is that of one, whatever the strategy, and so is a training that goes on with
// it.

#include "paceline/algorithms/swa/swa.h"
#include "rank/algorithms/averaged_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

/// Takes weights after steps 2, 4, 6 and 8, and loads them after the last of these.
std::unique_ptr<train::Algorithm> make_swa() {
  return make(SwaConfig{.start = {2, config::TimeUnit::kBatch},
                        .end = {8, config::TimeUnit::kBatch},
                        .interval = {2, config::TimeUnit::kBatch}});
}

TEST(SwaOnRanks, IsThatOfOneRankUnderEveryStrategy) {
  paceline::test::expect_those_of_one_rank(make_swa, 10);
}

TEST(SwaOnRanks, GoesOnUnderAnyStrategyAndNumberOfRanks) {
  paceline::test::expect_going_on(make_swa, {{"num_averaged", 2}, {"is_loaded", false}}, 5);
}

}  // namespace
}  // namespace paceline::algorithms
