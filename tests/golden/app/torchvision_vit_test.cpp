// torchvision's ViT, of which tests/golden/models/make_torchvision_vit.py wrote weights and logits,
// in ours.

#include "golden/models/reference_weights.h"
#include "paceline/app/assembly/initial_values.h"
#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/nn/module_tree.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "support/one_thread.h"
#include "support/parity.h"

#include <cmath>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string golden_file(const std::string& ending) {
  return std::string(PACELINE_SOURCE_DIR) + "/tests/golden/models/torchvision_vit" + ending;
}

Recipe recipe_of(const nlohmann::json& sizes, const Registries& registries) {
  const double mlp_ratio = sizes.at("mlp_dim").get<double>() / sizes.at("hidden_dim").get<double>();
  const std::string text = fmt::format(
      "model: {{name: vit, img_size: {}, patch_size: {}, embed_dim: {}, depth: {}, num_heads: {}, "
      "mlp_ratio: {}, num_classes: {}, pretrained: {}}}",
      sizes.at("image_size").dump(), sizes.at("patch_size").dump(), sizes.at("hidden_dim").dump(),
      sizes.at("num_layers").dump(), sizes.at("num_heads").dump(), mlp_ratio,
      sizes.at("num_classes").dump(), golden_file(".safetensors"));
  return config::bind<Recipe>(config::parse_yaml(text, "recipe"), {registries.catalogs(), 1});
}

TEST(TorchvisionVit, ItsWeightsGiveItsLogits) {
  const test::OneThread one_thread;
  const auto golden = nlohmann::json::parse(std::ifstream(golden_file(".json")));
  const auto registries = make_registries();
  const Recipe recipe = recipe_of(golden.at("sizes"), *registries);
  const auto task = make_task(recipe, *registries);
  nn::Network& network = task->network();
  std::vector<std::string> notes;
  const auto values = initial_values(recipe, network, /*class_names=*/{}, notes);
  parallel::make_none({})->prepare(network, optim::weight_decay_rules(0, false, {}), values);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("32 of 32 tensors"), HasSubstr("torchvision's names")));

  nn::set_training(network, false);
  const at::NoGradGuard no_grad;
  const at::Tensor images =
      models::reference_images(3, golden.at("sizes").at("image_size"), at::kFloat);
  const at::Tensor logits = network.forward({{"images", images}}, {}).flatten();
  const auto wanted = golden.at("logits").get<std::vector<double>>();
  ASSERT_EQ(logits.numel(), static_cast<std::int64_t>(wanted.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double logit = logits[static_cast<std::int64_t>(i)].item<double>();
    EXPECT_NEAR(logit, wanted[i], 1e-5 * std::abs(wanted[i]));
    paceline::test::note_difference("vit by torchvision's names, float32", "logits",
                                    std::abs(logit / wanted[i] - 1));
  }
}

}  // namespace
}  // namespace paceline::app
