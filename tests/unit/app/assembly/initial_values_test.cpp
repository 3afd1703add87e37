#include "paceline/app/assembly/initial_values.h"

#include "paceline/algorithms/factorize/factorize.h"
#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"
#include "paceline/checkpoint/weights/weights.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/nn/factors/factors.h"
#include "paceline/nn/module_tree.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Values = std::map<std::string, at::Tensor>;

class InitialValues : public ::testing::Test {
 protected:
  /// What a run of this model starts from, changed as `change` says.
  template <class Change>
  Values of(const std::string& more, Change change, const std::string& classes = "6") {
    const auto recipe = config::bind<Recipe>(
        config::parse_yaml("run: {seed: 1}\nmodel: {name: vit, num_classes: " + classes +
                               ", img_size: 8, patch_size: 4, embed_dim: 8, depth: 1, "
                               "num_heads: 2" +
                               more + "}",
                           "test.yaml"),
        {registries_->catalogs(), 1});
    const auto task = make_task(recipe, *registries_);
    nn::Network& network = task->network();
    const TensorOrigins origins(network);
    change(network);
    notes_.clear();
    parallel::make_none({})->prepare(
        network, optim::weight_decay_rules(0, false, {}),
        initial_values(recipe, network, origins, /*class_names=*/{}, notes_));
    Values values;
    for (const auto& named : nn::named_parameters(network))
      values[named.name] = named.tensor.detach().clone();
    return values;
  }
  Values plain(const std::string& more = "", const std::string& classes = "6") {
    return of(
        more, [](nn::Network&) {}, classes);
  }
  Values factorized(algorithms::FactorInit init, const std::string& more = "",
                    const std::string& classes = "6") {
    return of(
        more,
        [&](nn::Network& network) {
          algorithms::factorize_layers(network,
                                       {.min_features = 6, .latent_features = 2, .init = init}, 1);
        },
        classes);
  }

  /// The setting that reads these values from a file.
  std::string file_of(const std::string& name, const Values& values) {
    std::vector<checkpoint::NamedTensor> tensors;
    for (const auto& [key, value] : values) tensors.push_back({key, value});
    const auto path = folder_.path() / (name + ".safetensors");
    checkpoint::export_weights(files_, path, tensors);
    return ", pretrained: " + path.string();
  }

  std::unique_ptr<Registries> registries_ = make_registries();
  paceline::test::TempFolder folder_;
  paceline::test::UnsyncedFileSystem files_;
  std::vector<std::string> notes_;
};

bool is_in_factors(const Values& values, const std::string& name) {
  return nn::is_of_first_factor(name) ||
         values.contains(name.substr(0, name.rfind('.')) + ".to_latent.weight");
}

void expect_others_of(const Values& plain, const Values& got) {
  for (const auto& [name, value] : plain) {
    const bool is_factor = is_in_factors(got, name) && !name.ends_with(".bias");
    EXPECT_TRUE(is_factor || got.at(name).equal(value)) << name;
  }
}

/// Expects the nearest factors of what was there.
void expect_nearest(const Values& whole, const Values& got) {
  for (const char* layer : {"blocks.0.attn.qkv", "blocks.0.mlp.fc2", "head"}) {
    const std::string name = std::string(layer) + ".weight";
    const nn::Factors wanted = nn::nearest_factors(whole.at(name), 2);
    EXPECT_TRUE(got.at(name).equal(wanted.second.to(at::kFloat))) << layer;
    EXPECT_TRUE(got.at(std::string(layer) + ".to_latent.weight").equal(wanted.first.to(at::kFloat)))
        << layer;
  }
}

TEST_F(InitialValues, WhatAlgorithmsAddShiftsNone) {
  const Values before = plain();
  const Values changed = of("", [](nn::Network& network) {
    network.children().front()->register_parameter("added", at::ones({2}));
  });
  EXPECT_EQ(changed.size(), before.size() + 1);
  for (const auto& [name, value] : changed) {
    const auto same = before.find(name);
    EXPECT_TRUE(value.equal(same == before.end() ? at::ones({2}) : same->second)) << name;
  }
}

TEST_F(InitialValues, FactorsShiftNoneAndAreNearWhatTheLayersWouldHave) {
  const Values before = plain();
  const Values fresh = factorized(algorithms::FactorInit::kFresh);
  EXPECT_EQ(fresh.size(), before.size() + 5) << "of four layers of a block and the head";
  expect_others_of(before, fresh);
  const Values nearest = factorized(algorithms::FactorInit::kSvd);
  expect_others_of(before, nearest);
  expect_nearest(before, nearest);
}

TEST_F(InitialValues, PretrainedWeightsAreTakenApart) {
  Values stored = plain();
  for (auto& [name, value] : stored) value = value * 2 + 0.25;
  const std::string from = file_of("plain", stored);
  const Values got = factorized(algorithms::FactorInit::kSvd, from);
  expect_others_of(stored, got);
  expect_nearest(stored, got);
  EXPECT_THAT([&] { factorized(algorithms::FactorInit::kFresh, from); },
              ThrowsMessage<base::ConfigError>(
                  AllOf(HasSubstr("algorithms.factorize.init: fresh"),
                        HasSubstr("plain.safetensors"), HasSubstr("blocks.0.attn.qkv.weight"),
                        HasSubstr("init: svd"), ::testing::Not(HasSubstr("\n")))));
}

TEST_F(InitialValues, PretrainedFactorsAreReadAsTheyAre) {
  Values stored = factorized(algorithms::FactorInit::kFresh);
  for (auto& [name, value] : stored) value = value * 2 + 0.25;
  const std::string from = file_of("factors", stored);
  for (const auto init : {algorithms::FactorInit::kFresh, algorithms::FactorInit::kSvd}) {
    const Values got = factorized(init, from);
    ASSERT_EQ(got.size(), stored.size());
    for (const auto& [name, value] : got) EXPECT_TRUE(value.equal(stored.at(name))) << name;
    EXPECT_THAT(notes_, ::testing::ElementsAre(HasSubstr("starts from the weights in")));
  }
}

TEST_F(InitialValues, AHeadOfOtherClassesStartsAnewWithFactorsOrWithout) {
  Values stored = plain();
  for (auto& [name, value] : stored) value = value * 2 + 0.25;
  const std::string from = file_of("plain", stored);
  const Values drawn = factorized(algorithms::FactorInit::kSvd, "", "7");
  const Values got = factorized(algorithms::FactorInit::kSvd, from, "7");
  EXPECT_TRUE(got.at("head.weight").equal(drawn.at("head.weight")));
  EXPECT_TRUE(got.at("head.to_latent.weight").equal(drawn.at("head.to_latent.weight")));
  EXPECT_FALSE(got.at("blocks.0.mlp.fc1.weight").equal(drawn.at("blocks.0.mlp.fc1.weight")));

  const std::string factors = file_of("factors", factorized(algorithms::FactorInit::kFresh, ""));
  const Values few = factorized(algorithms::FactorInit::kFresh, factors, "3");
  EXPECT_TRUE(few.at("head.weight").equal(plain("", "3").at("head.weight"))) << "has no factors";
  const Values many = factorized(algorithms::FactorInit::kFresh, factors, "7");
  EXPECT_TRUE(
      many.at("head.to_latent.weight")
          .equal(factorized(algorithms::FactorInit::kFresh, "", "7").at("head.to_latent.weight")));
}

}  // namespace
}  // namespace paceline::app
