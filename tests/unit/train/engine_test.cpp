#include "paceline/train/engine.h"

#include "paceline/base/error.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <limits>
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

/// One that changes networks, or one that may come where a run is resumed.
class FlaggedAlgorithm final : public Algorithm {
 public:
  FlaggedAlgorithm(std::string name, AlgorithmTraits traits)
      : name_(std::move(name)), traits_(std::move(traits)) {}
  std::string_view name() const override { return name_; }
  AlgorithmTraits traits() const override { return traits_; }
  void apply(Event, TrainState&, const RunContext&) override {}
  bool has_weights() const override { return is_averaging; }
  nlohmann::json state_dict() const override { return {{"is_here", true}}; }
  void load_state_dict(const nlohmann::json& state) override { state.at("is_here"); }

  bool is_averaging = false;

 private:
  std::string name_;
  AlgorithmTraits traits_;
};

/// Tells whom it has met.
class MeetingAlgorithm final : public Algorithm {
 public:
  explicit MeetingAlgorithm(std::string name) : name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  AlgorithmTraits traits() const override { return {.events = {}}; }
  std::string meet(std::span<const std::unique_ptr<Algorithm>> all) override {
    std::string note;
    for (const auto& other : all) {
      if (other->name() == "enemy") throw base::ConfigError(name_ + " does not go with enemy");
      if (other.get() != this) note += fmt::format("{} met {}", name_, other->name());
    }
    return note;
  }
  void apply(Event, TrainState&, const RunContext&) override {}

 private:
  std::string name_;
};

class StoppingCallback final : public Callback {
 public:
  std::string_view name() const override { return "stopping"; }
  CallbackTraits traits() const override { return {.events = {Event::kEvalEnd}}; }
  std::optional<std::string> on_event(Event, const TrainState&, const RunContext&) override {
    return "enough";
  }
};

/// Is called in every second step, and has values for both kinds of rows.
class CountingCallback final : public Callback {
 public:
  explicit CountingCallback(config::Duration every) : every_(every) {}
  std::string_view name() const override { return "counting"; }
  CallbackTraits traits() const override {
    return {.events = {Event::kStepEnd, Event::kEvaluated},
            .every = every_,
            .step_scalars = {"calls", "never"},
            .eval_scalars = {"evaluations"}};
  }
  std::optional<std::string> on_event(Event event, const TrainState&, const RunContext&) override {
    ++(event == Event::kStepEnd ? num_steps : num_evaluations);
    return std::nullopt;
  }
  std::vector<double> scalars(Event event) const override {
    if (event == Event::kEvaluated) return {1.0 * num_evaluations};
    return {1.0 * num_steps, std::numeric_limits<double>::quiet_NaN()};
  }

  int num_steps = 0;
  int num_evaluations = 0;

 private:
  config::Duration every_;
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

TEST_F(EngineTest, OneAlgorithmMayStandForTheTrainedWeights) {
  const auto averaging = [](const char* name, bool stands) {
    return std::make_unique<FlaggedAlgorithm>(
        name, AlgorithmTraits{.events = {}, .has_weights = true, .stands_for_weights = stands});
  };
  std::vector<std::unique_ptr<Algorithm>> algorithms;
  algorithms.push_back(averaging("beside", false));
  algorithms.push_back(averaging("in_place", true));
  auto& beside = static_cast<FlaggedAlgorithm&>(*algorithms[0]);
  auto& in_place = static_cast<FlaggedAlgorithm&>(*algorithms[1]);
  const Engine engine(std::move(algorithms), {});
  beside.is_averaging = true;
  EXPECT_EQ(engine.standing(), nullptr) << "not before it has weights";
  in_place.is_averaging = true;
  EXPECT_EQ(engine.standing(), &in_place);
  EXPECT_EQ(engine.with_weights().size(), 2u);

  std::vector<std::unique_ptr<Algorithm>> two;
  two.push_back(averaging("a", true));
  two.push_back(averaging("b", true));
  EXPECT_THAT(
      [&] { Engine(std::move(two), {}); },
      ::testing::ThrowsMessage<base::ConfigError>(::testing::AllOf(
          ::testing::HasSubstr("'a' and 'b' both"), ::testing::HasSubstr("evaluate: average"))));
}

TEST_F(EngineTest, AlgorithmsMeetBeforeAllEvents) {
  const auto engine_of = [&](std::vector<std::string> names) {
    std::vector<std::unique_ptr<Algorithm>> algorithms;
    algorithms.push_back(algorithm("silent", 0));
    for (std::string& name : names)
      algorithms.push_back(std::make_unique<MeetingAlgorithm>(std::move(name)));
    return Engine(std::move(algorithms), {});
  };
  EXPECT_THAT(engine_of({"one"}).notes(), testing::ElementsAre("one met silent"));
  EXPECT_THAT(engine_of({}).notes(), testing::IsEmpty());
  EXPECT_THAT(
      [&] {
        engine_of({"one", "enemy"});
      },
      testing::ThrowsMessage<base::ConfigError>("one does not go with enemy"));
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

TEST_F(EngineTest, CallbacksAreCalledInTheirIntervalAndHaveValuesThen) {
  std::vector<std::unique_ptr<Callback>> callbacks;
  callbacks.push_back(
      std::make_unique<CountingCallback>(config::Duration{2, config::TimeUnit::kBatch}));
  Engine engine({}, std::move(callbacks));
  std::vector<std::string> rows;
  const auto log = [&](Event event) {
    engine.fire(event, state_, run_);
    for (const metrics::MetricValue& value : engine.callback_scalars(event, state_.clock))
      rows.push_back(fmt::format("{}: {} {}", state_.clock.step, value.name, value.value));
  };
  for (state_.clock.step = 1; state_.clock.step <= 4; ++state_.clock.step) log(Event::kStepEnd);
  log(Event::kEvaluated);
  EXPECT_THAT(rows, testing::ElementsAre("2: counting/calls 1", "4: counting/calls 2",
                                         "5: counting/evaluations 1"));
}

TEST_F(EngineTest, RefusesACallbackByTheClockOnTheWall) {
  std::vector<std::unique_ptr<Callback>> callbacks;
  callbacks.push_back(
      std::make_unique<CountingCallback>(config::Duration{60, config::TimeUnit::kSecond}));
  EXPECT_THAT([&] { Engine({}, std::move(callbacks)); },
              testing::ThrowsMessage<base::ConfigError>(
                  testing::AllOf(testing::HasSubstr("callbacks.counting"),
                                 testing::HasSubstr("write an interval in ep, ba"))));
}

TEST_F(EngineTest, KnowsWhoChangesTheNetworkInTheirOrder) {
  std::vector<std::unique_ptr<Algorithm>> algorithms;
  const auto add = [&](const char* name, int order, bool changes_network) {
    algorithms.push_back(std::make_unique<FlaggedAlgorithm>(
        name, AlgorithmTraits{
                  .events = {Event::kInit}, .order = order, .changes_network = changes_network}));
  };
  add("third", 3, true);
  add("watcher", 2, false);
  add("first", 1, true);
  const Engine engine(std::move(algorithms), {});
  std::vector<std::string> names;
  for (const Algorithm* each : engine.that_change_network()) names.emplace_back(each->name());
  EXPECT_THAT(names, testing::ElementsAre("first", "third"));
}

TEST_F(EngineTest, OnlyWhoMayComesInTheMiddleOfARun) {
  const nlohmann::json saved = Engine({}, {}).state_dict();
  const auto load = [&](bool may_come) {
    std::vector<std::unique_ptr<Algorithm>> algorithms;
    algorithms.push_back(std::make_unique<FlaggedAlgorithm>(
        "late", AlgorithmTraits{.events = {}, .may_come_or_go = may_come}));
    Engine(std::move(algorithms), {}).load_state_dict(saved);
  };
  EXPECT_NO_THROW(load(true));
  EXPECT_THROW(load(false), base::CheckpointError);
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
