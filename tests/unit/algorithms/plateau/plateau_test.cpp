#include "paceline/algorithms/plateau/plateau.h"

#include "paceline/base/error.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <atomic>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::algorithms {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using train::Event;

class PlateauTest : public ::testing::Test {
 protected:
  void evaluate(Plateau& plateau, double value) {
    state_.last_eval["val/loss"] = value;
    plateau.apply(Event::kEvaluated, state_, run_);
  }

  std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  std::atomic<int> no_signal_{0};
  train::RunContext run_{*communicator_, {}, 0, {}, no_signal_};
  train::TrainState state_;
};

TEST_F(PlateauTest, WaitsForOneMoreThanPatience) {
  Plateau plateau({.factor = 0.5, .patience = 2});
  for (const double value : {1.0, 1.0, 1.0}) evaluate(plateau, value);
  EXPECT_EQ(state_.lr_factor, 1);
  evaluate(plateau, 1.0);
  EXPECT_EQ(state_.lr_factor, 0.5);
  EXPECT_EQ(plateau.scalars(), std::vector<double>{0.5});
}

TEST_F(PlateauTest, GoesOnInTheMiddleOfItsPatienceAndOfItsCooldown) {
  const PlateauConfig config{.factor = 0.5, .patience = 1, .cooldown = 2};
  Plateau whole(config);
  std::vector<double> expected;
  for (int i = 0; i < 12; ++i) {
    evaluate(whole, 1.0);
    expected.push_back(state_.lr_factor);
  }
  EXPECT_EQ(expected.back(), 0.125);
  nlohmann::json saved = Plateau(config).state_dict();
  for (int i = 0; i < 12; ++i) {  // a run of its own for each evaluation
    Plateau part(config);
    part.load_state_dict(saved);
    state_.lr_factor = 1;
    part.apply(Event::kFitStart, state_, run_);
    EXPECT_EQ(state_.lr_factor, i == 0 ? 1 : expected.at(static_cast<std::size_t>(i) - 1));
    evaluate(part, 1.0);
    EXPECT_EQ(state_.lr_factor, expected.at(static_cast<std::size_t>(i)));
    saved = nlohmann::json::parse(part.state_dict().dump());
  }
}

TEST_F(PlateauTest, NeverFallsBelowItsFloorAndNeverRises) {
  Plateau plateau({.factor = 0.1, .patience = 0, .min_factor = 0.04});
  for (int i = 0; i < 5; ++i) evaluate(plateau, 1.0);
  EXPECT_EQ(state_.lr_factor, 0.04);
}

TEST_F(PlateauTest, MoreOfAnAccuracyIsBetter) {
  Plateau plateau({.monitor = "val/top1", .factor = 0.5, .patience = 0});
  for (const double value : {0.1, 0.2, 0.3}) {
    state_.last_eval["val/top1"] = value;
    plateau.apply(Event::kEvaluated, state_, run_);
  }
  EXPECT_EQ(state_.lr_factor, 1);
  plateau.apply(Event::kEvaluated, state_, run_);
  EXPECT_EQ(state_.lr_factor, 0.5);
}

TEST(PlateauConfig, RefusesAFactorThatLowersNothing) {
  EXPECT_THAT([] { config::bind<PlateauConfig>(config::parse_yaml("factor: 1", "r.yaml"), {}); },
              ThrowsMessage<base::ConfigError>(HasSubstr("factor")));
}

}  // namespace
}  // namespace paceline::algorithms
