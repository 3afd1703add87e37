#include "paceline/train/algorithm.h"

#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <stdexcept>

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
