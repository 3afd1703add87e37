#include "paceline/train/algorithm.h"

#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <optional>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::train {
namespace {

class Swapping final : public Algorithm {
 public:
  std::string_view name() const override { return "swapping"; }
  AlgorithmTraits traits() const override { return {.events = {}}; }
  void apply(Event, TrainState&, const RunContext&) override {}
  void swap_weights(TrainState&) override { has_own = !has_own; }

  bool has_own = false;  ///< the strategy's are this algorithm's
};

TEST(Algorithm, ThatRemembersNothingSavesAnEmptyObject) {
  Swapping algorithm;
  EXPECT_EQ(algorithm.state_dict(), nlohmann::json::object());
  algorithm.load_state_dict(nlohmann::json::object());
}

// Steps 5 to 8 of epochs of 4.
TEST(CallbackTraits, CountStepsAndEpochsWhenTheyEnd) {
  const auto included = [](Event event, std::optional<config::Duration> every) {
    const CallbackTraits traits{.events = {event}, .every = every};
    std::vector<std::int64_t> steps;
    Clock clock;
    clock.lengths.steps_per_epoch = 4;
    clock.lengths.samples_per_step = 10;
    for (clock.step = 5; clock.step <= 8; ++clock.step) {
      if (traits.includes(event, clock)) steps.push_back(clock.step);
    }
    return steps;
  };
  using config::TimeUnit;
  using ::testing::ElementsAre;
  const config::Duration two_steps{2, TimeUnit::kBatch};
  EXPECT_THAT(included(Event::kStepEnd, std::nullopt), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(included(Event::kStepEnd, two_steps), ElementsAre(6, 8));
  EXPECT_THAT(included(Event::kSafePoint, two_steps), ElementsAre(6, 8));
  EXPECT_THAT(included(Event::kGradientsReady, two_steps), ElementsAre(5, 7)) << "in steps 6 and 8";
  EXPECT_THAT(included(Event::kStepEnd, config::Duration{2, TimeUnit::kEpoch}), ElementsAre(8));
  EXPECT_THAT(included(Event::kStepEnd, config::Duration{20, TimeUnit::kSample}),
              ElementsAre(6, 8));
  for (const Event event : {Event::kFitStart, Event::kEvalStart, Event::kEvaluated, Event::kFitEnd})
    EXPECT_EQ(included(event, two_steps).size(), 4U) << "which no step counts";
}

TEST(CallbackTraits, AnEpochsStartIsThatOfTheEpochWhoseEndCounts) {
  const CallbackTraits traits{.events = {Event::kEpochStart, Event::kEpochEnd},
                              .every = config::Duration{2, config::TimeUnit::kEpoch}};
  Clock clock;
  clock.lengths.steps_per_epoch = 4;
  EXPECT_FALSE(traits.includes(Event::kEpochStart, clock)) << "of the first epoch";
  clock.step = 4;
  EXPECT_FALSE(traits.includes(Event::kEpochEnd, clock));
  EXPECT_TRUE(traits.includes(Event::kEpochStart, clock)) << "of the second";
  clock.step = 8;
  EXPECT_TRUE(traits.includes(Event::kEpochEnd, clock));
}

TEST(SwappedWeights, GoBackWhateverHappens) {
  Swapping algorithm;
  TrainState state;
  const auto evaluate = [&] {
    const SwappedWeights swapped(algorithm, state);
    EXPECT_TRUE(algorithm.has_own);
    throw std::runtime_error("no more samples");
  };
  EXPECT_THROW(evaluate(), std::runtime_error);
  EXPECT_FALSE(algorithm.has_own);
}

}  // namespace
}  // namespace paceline::train
