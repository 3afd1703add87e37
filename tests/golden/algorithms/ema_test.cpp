#include "paceline/algorithms/ema/ema.h"

#include "golden/algorithms/averaged_net.h"

// Averages that Composer's EMA keeps of weights that are functions of the batch: make_ema.py.

namespace paceline::algorithms {
namespace {

using nlohmann::json;

std::optional<config::Duration> duration_of(const json& options, const char* key) {
  if (!options.contains(key) || options[key].is_null()) return std::nullopt;
  return config::Duration::parse(options[key].get<std::string>());
}

EmaConfig config_of(const json& options) {
  EmaConfig config;
  config.half_life = duration_of(options, "half_life");
  config.update_interval = duration_of(options, "update_interval");
  config.start = duration_of(options, "ema_start").value_or(config.start);
  if (options.contains("smoothing")) config.smoothing = options["smoothing"].get<double>();
  return config;
}

void expect_ema_case(const json& golden) {
  const auto net = std::make_shared<AveragedNet>();
  net->fc2->bias.set_requires_grad(false);
  Ema ema(config_of(golden["options"]));
  follow_updates(golden, net, ema, [&](const train::TrainState& state, const json& wanted) {
    EXPECT_TRUE(ema.has_weights());
    EXPECT_EQ(expect_named_values("ema", "averaged weights", ema.tensors(state), "algorithms.ema/",
                                  wanted["average"]),
              wanted["average"].size() - 1)
        << "all but the count of batches";
  });
}

TEST(GoldenEma, AveragesAreComposers) {
  for (const json& each : golden_list("ema.json", "cases")) expect_ema_case(each);
}

}  // namespace
}  // namespace paceline::algorithms
