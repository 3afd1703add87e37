#include "paceline/callbacks/early_stop.h"

#include "paceline/base/error.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::callbacks {
namespace {

class EarlyStopTest : public ::testing::Test {
 protected:
  std::optional<std::string> evaluate(EarlyStop& callback, double value) {
    state_.last_eval["val/top1"] = value;
    return callback.on_event(train::Event::kEvaluated, state_, run_);
  }

  train::TrainState state_;
  std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  std::atomic<int> signal_{0};
  train::RunContext run_{*communicator_, {}, 1, {}, signal_};
};

TEST_F(EarlyStopTest, StopsAfterPatienceEvaluationsWithoutImprovement) {
  EarlyStop callback({.monitor = "val/top1", .patience = 2});
  EXPECT_FALSE(evaluate(callback, 0.5));
  EXPECT_FALSE(evaluate(callback, 0.5)) << "equal is no improvement";
  EXPECT_FALSE(evaluate(callback, 0.6)) << "an improvement starts anew";
  EXPECT_FALSE(evaluate(callback, 0.4));
  EXPECT_EQ(evaluate(callback, 0.6), "val/top1 has not improved on 0.6 for 2 evaluations");
}

TEST_F(EarlyStopTest, LogsTheBestAndHowLongAgoItWas) {
  EarlyStop callback({.monitor = "val/top1", .patience = 5});
  EXPECT_EQ(callback.traits().eval_scalars.size(), 2U);
  EXPECT_TRUE(std::isnan(callback.scalars(train::Event::kEvaluated).front()));
  evaluate(callback, 0.5);
  evaluate(callback, 0.25);
  EXPECT_THAT(callback.scalars(train::Event::kEvaluated), ::testing::ElementsAre(0.5, 1));
}

TEST_F(EarlyStopTest, MinimaAndSmallChanges) {
  EarlyStop callback(
      {.monitor = "val/top1", .mode = train::MonitorMode::kMin, .patience = 1, .min_delta = 0.1});
  EXPECT_FALSE(evaluate(callback, 1.0));
  EXPECT_FALSE(evaluate(callback, 0.8));
  EXPECT_TRUE(evaluate(callback, 0.75)) << "less than min_delta better";
}

TEST_F(EarlyStopTest, NotANumberIsNoImprovement) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EarlyStop callback({.monitor = "val/top1", .patience = 2});
  EXPECT_FALSE(evaluate(callback, nan));
  EXPECT_FALSE(evaluate(callback, 0.5));
  EXPECT_FALSE(evaluate(callback, nan));
  EXPECT_EQ(evaluate(callback, nan), "val/top1 has not improved on 0.5 for 2 evaluations");
  EarlyStop hopeless({.monitor = "val/top1", .patience = 1});
  EXPECT_EQ(evaluate(hopeless, nan), "val/top1 was no number in 1 evaluations");
}

TEST_F(EarlyStopTest, RemembersAcrossAResume) {
  EarlyStop first({.monitor = "val/top1", .patience = 2});
  evaluate(first, 0.5);
  evaluate(first, 0.4);
  EarlyStop second({.monitor = "val/top1", .patience = 2});
  second.load_state_dict(first.state_dict());
  EXPECT_TRUE(evaluate(second, 0.4));
  EarlyStop fresh({.monitor = "val/top1", .patience = 1});
  fresh.load_state_dict(EarlyStop({.monitor = "val/top1"}).state_dict());
  EXPECT_FALSE(evaluate(fresh, 0.1));
}

TEST_F(EarlyStopTest, ARunThatItEndedEndsAtOnceWhenItIsResumedUnlessPatienceGrew) {
  const auto resume = [&](std::int64_t patience, double last) {
    EarlyStop first({.monitor = "val/top1", .patience = 2});
    evaluate(first, 0.5);
    evaluate(first, 0.4);
    evaluate(first, last);
    EarlyStop second({.monitor = "val/top1", .patience = patience});
    second.load_state_dict(first.state_dict());
    EXPECT_TRUE(second.traits().events.contains(train::Event::kFitStart));
    return second.on_event(train::Event::kFitStart, state_, run_);
  };
  EXPECT_EQ(resume(2, 0.4), "val/top1 has not improved on 0.5 for 2 evaluations");
  EXPECT_FALSE(resume(3, 0.4));
  EXPECT_FALSE(resume(2, 0.6));
}

TEST_F(EarlyStopTest, BeginsAnewWithAnotherMetric) {
  EarlyStop first({.monitor = "val/top1", .patience = 1});
  evaluate(first, 0.9);
  evaluate(first, 0.8);
  for (const EarlyStopConfig& other :
       {EarlyStopConfig{.monitor = "val/loss", .patience = 1},
        EarlyStopConfig{.monitor = "val/top1", .mode = train::MonitorMode::kMin, .patience = 1}}) {
    EarlyStop second(other);
    second.load_state_dict(first.state_dict());
    EXPECT_FALSE(second.on_event(train::Event::kFitStart, state_, run_));
    state_.last_eval["val/loss"] = 2.3;
    EXPECT_FALSE(evaluate(second, 2.3));
  }
}

TEST_F(EarlyStopTest, NamesTheMetricsThereAre) {
  EarlyStop callback({.monitor = "val/top"});
  try {
    evaluate(callback, 0.5);
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("val/top1"));
  }
}

}  // namespace
}  // namespace paceline::callbacks
