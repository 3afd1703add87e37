#include "paceline/algorithms/lookahead/lookahead.h"

#include "golden/algorithms/averaged_net.h"

// Slow weights by the laws of timm and airbench94: make_lookahead.py.

namespace paceline::algorithms {
namespace {

/// Only those of these names.
std::vector<tensor::StateShard> named_in(const nlohmann::json& names, std::string_view prefix,
                                         std::vector<tensor::StateShard> shards) {
  std::erase_if(shards, [&](const tensor::StateShard& shard) {
    return !names.contains(shard.name.substr(prefix.size()));
  });
  return shards;
}

TEST(GoldenLookahead, SlowWeightsAreTimmsAndAirbenchs) {
  constexpr std::string_view kPrefix = "algorithms.lookahead/";
  for (const nlohmann::json& each : golden_list("lookahead.json", "cases")) {
    const nlohmann::json& options = each["options"];
    Lookahead lookahead(
        LookaheadConfig{.interval = config::Duration::parse(options["interval"].get<std::string>()),
                        .decay = options["decay"].get<double>(),
                        .decay_power = options.value("decay_power", 0.0)});
    follow_updates(
        each, std::make_shared<AveragedNet>(), lookahead,
        [&](const train::TrainState& state, const nlohmann::json& wanted) {
          const nlohmann::json& slow = wanted["average"];
          const auto shards = named_in(slow, kPrefix, lookahead.tensors(state));
          EXPECT_EQ(expect_named_values("lookahead", "slow weights", shards, kPrefix, slow),
                    slow.size());
          // timm leaves buffers alone, and they hang on nothing else.
          const bool has_buffers = slow.contains("bn.running_mean");
          const auto model = has_buffers ? state.strategy->model_state()
                                         : named_in(slow, "", state.strategy->model_state());
          EXPECT_EQ(expect_named_values("lookahead", "trained weights", model, "", wanted["model"]),
                    has_buffers ? wanted["model"].size() : slow.size());
        });
  }
}

}  // namespace
}  // namespace paceline::algorithms
