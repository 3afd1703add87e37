#include "paceline/train/engine.h"

#include "paceline/base/error.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::train {
namespace {

using Calls = std::vector<std::string>;

class RecordingAlgorithm final : public Algorithm {
 public:
  RecordingAlgorithm(std::string name, int order, Calls& calls, bool replaces_loss = false)
      : name_(std::move(name)), order_(order), calls_(calls), replaces_loss_(replaces_loss) {}
  std::string_view name() const override { return name_; }
  AlgorithmTraits traits() const override {
    return {.events = {Event::kBeforeForward, Event::kAfterForward},
            .order = order_,
            .replaces_loss = replaces_loss_,
            .scalars = {"value", "twice"}};
  }
  std::vector<double> scalars() const override { return {1.0 * value, 2.0 * value}; }
  void apply(Event, TrainState& state, const RunContext&) override {
    calls_.push_back(name_);
    state.lr += 1;
  }
  nlohmann::json state_dict() const override { return {{"value", value}}; }
  void load_state_dict(const nlohmann::json& state) override { value = state.at("value"); }

  int value = 0;

 private:
  std::string name_;
  int order_;
  Calls& calls_;
  bool replaces_loss_;
};

class StoppingCallback final : public Callback {
 public:
  std::string_view name() const override { return "stopping"; }
  EventSet events() const override { return {Event::kEvalEnd}; }
  std::optional<std::string> on_event(Event, const TrainState&, const RunContext&) override {
    return "enough";
  }
};

class EngineTest : public testing::Test {
 protected:
  std::unique_ptr<Algorithm> algorithm(const std::string& name, int order,
                                       bool replaces_loss = false) {
    return std::make_unique<RecordingAlgorithm>(name, order, calls_, replaces_loss);
  }

  Calls calls_;
  TrainState state_;
  std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  std::atomic<int> signal_{0};
  RunContext run_{*communicator_, {}, 1, {}, signal_};
};

TEST_F(EngineTest, ScalarsBearTheNamesOfTheirAlgorithms) {
  std::vector<std::unique_ptr<Algorithm>> algorithms;
  algorithms.push_back(algorithm("late", 2));
  algorithms.push_back(algorithm("early", 1));
  static_cast<RecordingAlgorithm&>(*algorithms[0]).value = 5;
  const Engine engine(std::move(algorithms), {});
  EXPECT_THAT(engine.scalar_names(),
              testing::ElementsAre("early/value", "early/twice", "late/value", "late/twice"));
  EXPECT_THAT(engine.scalars(), testing::ElementsAre(0, 0, 5, 10));
}

TEST_F(EngineTest, AfterEventsRunInReverseOrder) {
  std::vector<std::unique_ptr<Algorithm>> algorithms;
  algorithms.push_back(algorithm("late", 10));
  algorithms.push_back(algorithm("early", -1));
  algorithms.push_back(algorithm("middle", 3));
  Engine engine(std::move(algorithms), {});
  engine.fire(Event::kBeforeForward, state_, run_);
  EXPECT_THAT(calls_, testing::ElementsAre("early", "middle", "late"));
  calls_.clear();
  engine.fire(Event::kAfterForward, state_, run_);
  EXPECT_THAT(calls_, testing::ElementsAre("late", "middle", "early"));
  calls_.clear();
  engine.fire(Event::kStepEnd, state_, run_);
  EXPECT_TRUE(calls_.empty());
  EXPECT_EQ(state_.lr, 6) << "algorithms change the state";
}

TEST_F(EngineTest, NamesWhoActsBetweenTwoEvents) {
  std::vector<std::unique_ptr<Algorithm>> algorithms;
  algorithms.push_back(algorithm("mixer", 0));
  std::vector<std::unique_ptr<Callback>> callbacks;
  callbacks.push_back(std::make_unique<StoppingCallback>());
  const Engine engine(std::move(algorithms), std::move(callbacks));
  EXPECT_EQ(engine.acts_between(Event::kAfterForward, Event::kAfterBackward), "mixer");
  EXPECT_EQ(engine.acts_between(Event::kBeforeLoss, Event::kAfterBackward), std::nullopt);
  EXPECT_EQ(engine.acts_between(Event::kEvalStart, Event::kEvalEnd), "stopping");
}

TEST_F(EngineTest, RefusesTwoLossesAndTwoOfAName) {
  std::vector<std::unique_ptr<Algorithm>> losses;
  losses.push_back(algorithm("a", 0, true));
  losses.push_back(algorithm("b", 0, true));
  EXPECT_THROW(Engine(std::move(losses), {}), base::ConfigError);
  std::vector<std::unique_ptr<Algorithm>> twins;
  twins.push_back(algorithm("a", 0));
  twins.push_back(algorithm("a", 1));
  EXPECT_THROW(Engine(std::move(twins), {}), base::ConfigError);
}

TEST_F(EngineTest, KeepsTheReasonToStopUntilItIsTaken) {
  std::vector<std::unique_ptr<Callback>> callbacks;
  callbacks.push_back(std::make_unique<StoppingCallback>());
  Engine engine({}, std::move(callbacks));
  EXPECT_EQ(engine.take_stop_reason(), std::nullopt);
  engine.fire(Event::kEvalEnd, state_, run_);
  EXPECT_EQ(engine.take_stop_reason(), "enough");
  EXPECT_EQ(engine.take_stop_reason(), std::nullopt);
}

TEST_F(EngineTest, StateGoesByName) {
  const auto make = [&](int value) {
    auto part = std::make_unique<RecordingAlgorithm>("a", 0, calls_);
    part->value = value;
    std::vector<std::unique_ptr<Algorithm>> algorithms;
    algorithms.push_back(std::move(part));
    return algorithms;
  };
  const nlohmann::json saved = Engine(make(7), {}).state_dict();
  Engine restored(make(0), {});
  restored.load_state_dict(saved);
  EXPECT_EQ(restored.state_dict(), saved);

  std::vector<std::unique_ptr<Algorithm>> other;
  other.push_back(algorithm("b", 0));
  Engine engine(std::move(other), {});
  EXPECT_THROW(engine.load_state_dict(saved), base::CheckpointError);

  std::vector<std::unique_ptr<Callback>> new_callbacks;
  new_callbacks.push_back(std::make_unique<StoppingCallback>());
  Engine with_callback(make(0), std::move(new_callbacks));
  with_callback.load_state_dict(saved);  // a callback may begin with any start of a run
}

}  // namespace
}  // namespace paceline::train
