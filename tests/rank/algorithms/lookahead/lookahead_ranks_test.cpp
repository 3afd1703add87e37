// The slow weights of N ranks are those of one, whatever the strategy, and so is a training that
// goes on with them.

#include "paceline/algorithms/lookahead/lookahead.h"
#include "rank/algorithms/averaged_training.h"

#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

std::unique_ptr<train::Algorithm> make_lookahead() {
  return make(LookaheadConfig{.interval = {3, config::TimeUnit::kBatch}, .decay_power = 0.5});
}

TEST(LookaheadOnRanks, IsThatOfOneRankUnderEveryStrategy) {
  paceline::test::expect_those_of_one_rank(make_lookahead, 10);
}

TEST(LookaheadOnRanks, GoesOnUnderAnyStrategyAndNumberOfRanks) {
  paceline::test::expect_going_on(make_lookahead, {{"is_started", true}}, 5);
}

}  // namespace
}  // namespace paceline::algorithms
