#include "paceline/algorithms/lookahead/lookahead.h"

#include "paceline/base/error.h"
#include "unit/algorithms/averaging_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::algorithms {
namespace {

using config::TimeUnit;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using train::Event;

class LookaheadTest : public AveragingFixture {
 protected:
  void start(Lookahead& lookahead) {
    fire(lookahead, Event::kPrepared);
    fire(lookahead, Event::kFitStart);
  }
  /// Adds so much to the weight in each of so many steps.
  void climb(Lookahead& lookahead, int num_steps, double height = 1) {
    for (int i = 0; i < num_steps; ++i) step(lookahead, weight() + height);
  }
  double weight() const { return norm_->weight[0].item<double>(); }
};

TEST_F(LookaheadTest, GoesBackPartOfTheWay) {
  Lookahead lookahead({.interval = {4, TimeUnit::kBatch}, .decay = 0.25});
  start(lookahead);
  climb(lookahead, 3);
  EXPECT_EQ(weight(), 4);
  EXPECT_EQ(average(lookahead), 1);
  climb(lookahead, 1);
  EXPECT_EQ(weight(), 4) << "three quarters of the way from 1 to 5";
  EXPECT_EQ(average(lookahead), 4);
  EXPECT_EQ(norm_->running_mean[0].item<double>(), 37.5) << "and so of 0 and 50";
  climb(lookahead, 4);
  EXPECT_EQ(weight(), 7);
}

TEST_F(LookaheadTest, EndsWithTheSlowWeights) {
  Lookahead lookahead({.interval = {5, TimeUnit::kBatch}, .decay = 0.5});
  start(lookahead);
  climb(lookahead, 10);
  const double slow = average(lookahead);
  climb(lookahead, 1);
  EXPECT_NE(weight(), slow);
  climb(lookahead, 1);  // the twelfth is the last
  EXPECT_EQ(weight(), slow);
  EXPECT_EQ(average(lookahead), slow);
}

TEST_F(LookaheadTest, KeepsMoreTheLaterItIs) {
  Lookahead lookahead({.interval = {6, TimeUnit::kBatch}, .decay = 0.5, .decay_power = 2});
  start(lookahead);
  climb(lookahead, 6, 8);
  EXPECT_EQ(weight(), 43) << "an eighth of 1 stays with 49";
  climb(lookahead, 6, 8);
  EXPECT_EQ(weight(), 67) << "half of 43 stays with 91";
}

TEST_F(LookaheadTest, GoesOnFromItsStateAsIfNeverStopped) {
  const LookaheadConfig config{.interval = {4, TimeUnit::kBatch}};
  Lookahead whole(config);
  start(whole);
  climb(whole, 6);
  Lookahead resumed(config);
  fire(resumed, Event::kPrepared);
  const auto saved = whole.tensors(state_);
  const auto loaded = resumed.tensors(state_);
  for (std::size_t i = 0; i < saved.size(); ++i) loaded[i].data.copy_(saved[i].data);
  resumed.load_state_dict(whole.state_dict());
  fire(resumed, Event::kFitStart);
  EXPECT_EQ(average(resumed), 3);
  climb(resumed, 2);
  EXPECT_EQ(weight(), 5);
}

TEST_F(LookaheadTest, ComesIntoARunWithTheWeightsThatItFinds) {
  Lookahead lookahead({.interval = {4, TimeUnit::kBatch}});
  fire(lookahead, Event::kPrepared);
  {
    const at::NoGradGuard no_grad;
    norm_->weight.fill_(9);  // by a checkpoint
  }
  fire(lookahead, Event::kFitStart);
  EXPECT_EQ(average(lookahead), 9);
}

TEST_F(LookaheadTest, RefusesIntervalsThatAreNoStepsAndLengthsThatAreUnknown) {
  const auto refusal = [&](const LookaheadConfig& config, const char* words) {
    Lookahead lookahead(config);
    EXPECT_THAT([&] { fire(lookahead, Event::kPrepared); },
                ThrowsMessage<base::ConfigError>(HasSubstr(words)));
  };
  for (const config::Duration& interval :
       {config::Duration{1, TimeUnit::kEpoch}, config::Duration{2.5, TimeUnit::kBatch}})
    refusal({.interval = interval}, "algorithms.lookahead.interval is");
  state_.clock.lengths.total_steps = 0;
  refusal({.decay_power = 3}, "give train.duration in ep, ba or sp");
}

}  // namespace
}  // namespace paceline::algorithms
