// Against Composer's surgery on torchvision's ResNets; see make_composer_names.py.

#include "paceline/app/export/composer_names.h"

#include "paceline/algorithms/blurpool/blurpool.h"
#include "paceline/algorithms/factorize/factorize.h"
#include "paceline/algorithms/squeeze_excite/squeeze_excite.h"
#include "paceline/algorithms/stochastic_depth/stochastic_depth.h"
#include "paceline/checkpoint/weights/weights.h"
#include "paceline/config/parse.h"
#include "paceline/config/write.h"
#include "paceline/nn/image_network.h"
#include "support/parity.h"

#include <cmath>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

nlohmann::json golden_of_composer() {
  return nlohmann::json::parse(
      std::ifstream(PACELINE_GOLDEN_DIR "/composer_names/composer_names.json"));
}

/// The script's noise().
at::Tensor script_noise(at::IntArrayRef sizes, std::int64_t number) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  const at::Tensor places = at::arange(count, at::kLong);
  return ((7919 * places + 104729 * (number + 2)).remainder(65537).to(at::kDouble) / 65537 - 0.5)
      .view(sizes);
}

train::LayerNames change_network(torch::nn::Module& network, const config::Component& component) {
  if (component.name == "blurpool")
    return algorithms::blur_layers(network, component.as<algorithms::BlurPoolConfig>());
  if (component.name == "factorize")
    return algorithms::factorize_layers(network, component.as<algorithms::FactorizeConfig>(), 1);
  if (component.name == "squeeze_excite")
    return algorithms::excite_layers(network, component.as<algorithms::SqueezeExciteConfig>(), 1);
  const auto& config = component.as<algorithms::StochasticDepthConfig>();
  const auto blocks = algorithms::residual_blocks(network);
  algorithms::set_drop_rules(blocks, config, config.drop_rate);
  train::LayerNames layers;
  for (const algorithms::ResidualBranches& block : blocks) layers["blocks"].push_back(block.block);
  return layers;
}

/// Our network of a case, changed in the order in which runs change it.
struct ChangedNetwork {
  ChangedNetwork(const nlohmann::json& each, const Registries& registries)
      : recipe(config::bind<Recipe>(
            config::parse_yaml(each["recipe"].get<std::string>(), "recipe.yaml"),
            registries.context(1))),
        network(registries.models.build(recipe.model.network)) {
    nn::set_dtype(*network, at::kDouble);
    for (const char* const name : {"factorize", "stochastic_depth", "blurpool", "squeeze_excite"}) {
      const auto component = recipe.algorithms.find(name);
      if (component == recipe.algorithms.end()) continue;
      record.push_back({name, config::to_flow_yaml(config::options_of(component->second)),
                        change_network(*network, component->second)});
    }
    own = checkpoint::named_tensors(*network);
    composers = as_composers(recipe, record, checkpoint::sources_of(own), registries);
  }

  Recipe recipe;
  std::unique_ptr<nn::Network> network;
  checkpoint::SurgeryRecord record;
  std::vector<checkpoint::NamedTensor> own;
  ComposerModel composers;
};

std::vector<nlohmann::json> names_and_sizes(const std::vector<checkpoint::TensorSource>& tensors) {
  std::vector<nlohmann::json> all;
  for (const checkpoint::TensorSource& tensor : tensors) {
    nlohmann::json& each = all.emplace_back(nlohmann::json::array({tensor.name}));
    for (const std::int64_t size : tensor.shape) each.push_back(size);
  }
  return all;
}

TEST(ComposerNamesGolden, NamesAndSizesAreThoseOfComposersSurgery) {
  const auto registries = make_registries();
  const nlohmann::json golden = golden_of_composer();
  for (const nlohmann::json& each : golden["cases"]) {
    SCOPED_TRACE(each["recipe"].get<std::string>());
    const ChangedNetwork changed(each, *registries);
    EXPECT_EQ(nlohmann::json(changed.composers.calls), each["calls"]);
    EXPECT_THAT(
        names_and_sizes(changed.composers.tensors),
        ::testing::UnorderedElementsAreArray(each["tensors"].get<std::vector<nlohmann::json>>()));
  }
}

TEST(ComposerNamesGolden, FiltersAreComposers) {
  const auto registries = make_registries();
  const nlohmann::json golden = golden_of_composer();
  const at::Tensor filter =
      at::tensor(golden["filter"].get<std::vector<float>>()).view({1, 1, 3, 3});
  const ChangedNetwork changed(golden["cases"][0], *registries);
  std::int64_t num_filters = 0;
  for (const checkpoint::TensorSource& tensor : changed.composers.tensors) {
    if (!tensor.name.ends_with("filter") && !tensor.name.ends_with("filt2d")) continue;
    ++num_filters;
    EXPECT_EQ(tensor.dtype, at::kFloat);
    EXPECT_TRUE(tensor.load().equal(filter.expand(tensor.shape))) << tensor.name;
  }
  EXPECT_EQ(num_filters, 7);
}

/// Fills our tensors with what the script has given those of Composer's names.
void fill_as_script(const ChangedNetwork& changed, const nlohmann::json& tensors) {
  std::map<std::string, std::int64_t> numbers;
  for (const nlohmann::json& tensor : tensors) numbers.emplace(tensor[0], std::ssize(numbers));
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < changed.own.size(); ++i) {
    const checkpoint::TensorSource& theirs = changed.composers.tensors[i];
    const at::Tensor& own = changed.own[i].tensor;
    if (theirs.dtype == at::kLong) continue;  // a counter
    const at::Tensor values = script_noise(own.sizes(), numbers.at(theirs.name));
    const bool is_near_0 = theirs.name.ends_with("bias") || theirs.name.ends_with("running_mean");
    const auto fan_in = static_cast<double>(own.numel()) / static_cast<double>(own.size(0));
    own.copy_(own.dim() > 1 ? values * std::sqrt(24 / fan_in) : values / 5 + (is_near_0 ? 0 : 1));
  }
}

TEST(ComposerNamesGolden, LogitsAreComposersWithTheSameTensorsByName) {
  const auto registries = make_registries();
  int num_computed = 0;
  const nlohmann::json golden = golden_of_composer();
  for (const nlohmann::json& each : golden["cases"]) {
    if (!each.contains("logits")) continue;
    ++num_computed;
    SCOPED_TRACE(each["recipe"].get<std::string>());
    const ChangedNetwork changed(each, *registries);
    fill_as_script(changed, each["tensors"]);
    changed.network->eval();
    const at::NoGradGuard no_grad;
    const at::Tensor logits =
        changed.network->forward({{"images", 4 * script_noise({3, 3, 40, 33}, -1)}}, {})
            .reshape({-1});
    ASSERT_EQ(logits.numel(), std::ssize(each["logits"]));
    // Composer has rates of stochastic depth in float32.
    const double tolerance = changed.recipe.algorithms.contains("stochastic_depth") ? 1e-6 : 1e-9;
    for (std::int64_t i = 0; i < logits.numel(); ++i)
      test::expect_reference("export --names composer", "logits", logits[i].item<double>(),
                             each["logits"][static_cast<std::size_t>(i)].get<double>(), tolerance);
  }
  EXPECT_EQ(num_computed, 6);
}

}  // namespace
}  // namespace paceline::app
