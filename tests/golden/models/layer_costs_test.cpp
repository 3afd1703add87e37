// What layers cost against fvcore's counts, which make_layer_costs.py wrote.

#include "paceline/models/builtin.h"
#include "paceline/nn/image_network.h"

#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::models {
namespace {

using nlohmann::json;

std::map<std::string, double> flops_by_layer(const nn::Network& network,
                                             const nn::LayerCosts& costs) {
  std::map<std::string, double> layers;
  for (const auto& module : network.named_modules("", /*include_self=*/false)) {
    for (const nn::LayerCost& cost : costs.layers()) {
      if (cost.layer == module.value().get()) layers[module.key()] += cost.flops;
    }
  }
  return layers;
}

TEST(LayerCostsGolden, AreFvcoresCounts) {
  Registry registry("model");
  add_builtin(registry);
  const json golden =
      json::parse(std::ifstream(std::string(PACELINE_GOLDEN_DIR) + "/layer_costs.json"));
  for (const auto& [name, wanted] : golden.items()) {
    SCOPED_TRACE(name);
    const config::ComponentEntry& entry = *registry.find(name);
    const auto network = registry.build({name, entry.info, entry.make()});
    nn::LayerCosts costs;
    dynamic_cast<const nn::CountedImageNetwork&>(*network).count_image(
        {wanted["size"][0].get<std::int64_t>(), wanted["size"][1].get<std::int64_t>()}, costs);
    auto flops = wanted["layers"].get<std::map<std::string, double>>();
    for (auto& [layer, count] : flops) count *= 2;  // of multiply-accumulates
    EXPECT_EQ(flops_by_layer(*network, costs), flops);
    if (wanted.contains("activations")) {
      EXPECT_EQ(costs.activations(), wanted["activations"].get<double>());
    }
  }
}

}  // namespace
}  // namespace paceline::models
