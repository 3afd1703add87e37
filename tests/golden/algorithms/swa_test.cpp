#include "paceline/algorithms/swa/swa.h"

#include "golden/algorithms/averaged_net.h"
#include "paceline/base/log.h"

// Averages that Composer's SWA keeps of weights that are functions of the batch: make_swa.py.

namespace paceline::algorithms {
namespace {

using nlohmann::json;

SwaConfig swa_config(const json& options) {
  const auto duration = [&](const char* key) {
    return config::Duration::parse(options.at(key).get<std::string>());
  };
  return {.start = duration("swa_start"),
          .end = duration("swa_end"),
          .interval = duration("update_interval")};
}

void expect_swa_case(const json& golden) {
  Swa swa(swa_config(golden["options"]));
  const auto check = [&](const train::TrainState& state, const json& wanted) {
    EXPECT_EQ(swa.has_weights(), !wanted["is_loaded"].get<bool>());
    EXPECT_EQ(expect_named_values("swa", "averaged weights", swa.tensors(state), "algorithms.swa/",
                                  wanted["average"]),
              wanted["average"].size());
    EXPECT_EQ(expect_named_values("swa", "trained weights", state.strategy->model_state(), "",
                                  wanted["model"]),
              wanted["model"].size());
  };
  follow_updates(golden, std::make_shared<AveragedNet>(), swa, check);
}

TEST(GoldenSwa, AveragesAreComposers) {
  const base::LogRedirection quiet([](base::LogLevel, std::string_view) {});
  for (const json& each : golden_list("swa.json", "cases")) expect_swa_case(each);
}

}  // namespace
}  // namespace paceline::algorithms
