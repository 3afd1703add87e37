#include "golden/algorithms/averaged_net.h"
#include "paceline/algorithms/ema/ema.h"

// Averages by the laws of timm and torchvision: make_ema_laws.py.

namespace paceline::algorithms {
namespace {

EmaConfig law_of(const nlohmann::json& options) {
  EmaConfig config{.smoothing = options["smoothing"].get<double>(),
                   .update_interval = {{1, config::TimeUnit::kBatch}}};
  if (options.contains("warmup_power")) config.warmup_power = options["warmup_power"].get<double>();
  config.warmup_gamma = options.value("warmup_gamma", 1.0);
  if (options.contains("rescale")) config.rescale = EmaRescale::kTorchvision;
  return config;
}

TEST(GoldenEmaLaws, AveragesAreTimmsAndTorchvisions) {
  for (const nlohmann::json& each : golden_list("ema_laws.json", "cases")) {
    const auto net = std::make_shared<AveragedNet>();
    net->fc2->bias.set_requires_grad(false);
    Ema ema(law_of(each["options"]));
    follow_updates(
        each, net, ema, [&](const train::TrainState& state, const nlohmann::json& wanted) {
          EXPECT_EQ(expect_named_values("ema_laws", "averaged weights", ema.tensors(state),
                                        "algorithms.ema/", wanted["average"]),
                    wanted["average"].size());
        });
  }
}

}  // namespace
}  // namespace paceline::algorithms
