// Against torch.optim.lr_scheduler.ReduceLROnPlateau; see make_plateau.py.

#include "paceline/algorithms/plateau/plateau.h"

#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <atomic>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::algorithms {
namespace {

PlateauConfig plateau_like(const nlohmann::json& options) {
  PlateauConfig config;
  config.mode = options.at("mode") == "max" ? train::MonitorMode::kMax : train::MonitorMode::kMin;
  options.at("factor").get_to(config.factor);
  options.at("patience").get_to(config.patience);
  config.threshold = options.value("threshold", config.threshold);
  config.cooldown = options.value("cooldown", config.cooldown);
  config.min_factor = options.value("min_lr", config.min_factor);
  if (options.value("threshold_mode", "rel") == "abs")
    config.threshold_kind = ThresholdKind::kAbsolute;
  return config;
}

TEST(GoldenPlateau, LowersWhereTorchDoes) {
  const auto cases = nlohmann::json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/plateau.json"));
  ASSERT_EQ(cases.size(), 6U);
  const auto communicator = comm::make_fake_communicator(0, 1);
  std::atomic<int> no_signal{0};
  for (const nlohmann::json& golden : cases) {
    Plateau plateau(plateau_like(golden.at("options")));
    train::TrainState state;
    const train::RunContext run{*communicator, {}, 0, {}, no_signal};
    std::size_t number = 0;
    for (const nlohmann::json& value : golden.at("metrics")) {
      state.last_eval["val/loss"] =
          value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
      plateau.apply(train::Event::kEvaluated, state, run);
      EXPECT_DOUBLE_EQ(state.lr_factor, golden.at("factors").at(number).get<double>())
          << golden.at("options") << " after evaluation " << number;
      ++number;
    }
  }
}

}  // namespace
}  // namespace paceline::algorithms
