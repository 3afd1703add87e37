#include "paceline/app/assembly/model_assembly.h"

#include "paceline/app/assembly/initial_values.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/nn/module_tree.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/tensor/storage.h"
#include "support/run_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

TEST(ModelAssembly, TheModelHasTheRecipesSeedTypeAndMemoryOrder) {
  const auto registries = make_registries();
  const auto make = [&](const std::string& text) {
    const auto recipe =
        config::bind<Recipe>(config::parse_yaml(text, "test.yaml"), {registries->catalogs(), 1});
    auto model = make_task(recipe, *registries);
    std::vector<std::string> notes;
    const auto values = initial_values(recipe, model->network(), /*class_names=*/{}, notes);
    parallel::make_none({})->prepare(model->network(), optim::weight_decay_rules(0, false, {}),
                                     values);
    return model;
  };
  const std::string tiny =
      "model: {name: vit, num_classes: 6, img_size: 8, patch_size: 4, embed_dim: 8, depth: 1, "
      "num_heads: 2}\n";
  const auto model = make(tiny + "run: {seed: 1}");
  const auto same = make(tiny + "run: {seed: 1}\ntrain: {channels_last: false}");
  const auto other = make(tiny + "run: {seed: 2}\ntrain: {precision: fp64}");

  const auto patches = [](train::Task& of) {
    for (const auto& named : nn::named_parameters(of.network())) {
      if (named.name == "patch_embed.proj.weight") return named.tensor;
    }
    return at::Tensor();
  };
  EXPECT_TRUE(patches(*model).is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(patches(*same).is_contiguous());
  EXPECT_TRUE(at::equal(patches(*model), patches(*same)));
  EXPECT_EQ(patches(*other).scalar_type(), at::kDouble);
  EXPECT_FALSE(at::allclose(patches(*model).to(at::kDouble), patches(*other)));
}

TEST(ModelAssembly, TheStrategyFollowsTheNumberOfRanks) {
  const auto alone = comm::make_fake_communicator(0, 1);
  const auto many = comm::make_fake_communicator(1, 4);
  const auto name = [](ParallelStrategy strategy, comm::Communicator& communicator) {
    Recipe recipe;
    recipe.parallel.strategy = strategy;
    return make_strategy(recipe, communicator, /*ranks_per_node=*/2)->name();
  };
  EXPECT_EQ(name(ParallelStrategy::kAuto, *alone), "none");
  EXPECT_EQ(name(ParallelStrategy::kAuto, *many), "ddp");
  EXPECT_EQ(name(ParallelStrategy::kDdp, *alone), "ddp");
  EXPECT_EQ(name(ParallelStrategy::kNone, *alone), "none");
  EXPECT_EQ(name(ParallelStrategy::kZero1, *many), "zero1");
  EXPECT_EQ(name(ParallelStrategy::kZero2, *many), "zero2");
  EXPECT_EQ(name(ParallelStrategy::kFsdp, *many), "fsdp");
  EXPECT_EQ(name(ParallelStrategy::kHsdp, *many), "hsdp");
  EXPECT_THAT([&] { name(ParallelStrategy::kNone, *many); },
              ::testing::ThrowsMessage<base::ConfigError>(::testing::HasSubstr("this run has 4")));
}

TEST(ModelAssembly, ActivationCheckpointingIsTheRecipes) {
  const auto registries = make_registries();
  const auto grad_of_one = [&](const std::string& train) {
    const std::string text =
        "model: {name: vit, num_classes: 6, img_size: 8, patch_size: 4, embed_dim: 8, depth: 1, "
        "num_heads: 2}\ntrain: {activation_checkpointing: " +
        train + "}";
    const auto recipe =
        config::bind<Recipe>(config::parse_yaml(text, "test.yaml"), {registries->catalogs(), 1});
    const auto model = make_task(recipe, *registries);
    for (const auto& named : nn::named_parameters(model->network()))
      tensor::allocate_memory(named.tensor);
    const at::Tensor outputs = model->network().forward({{"images", at::ones({2, 3, 8, 8})}}, {});
    torch::autograd::grad({outputs.sum()}, {nn::named_parameters(model->network())[0].tensor});
  };
  EXPECT_NO_THROW(grad_of_one("null"));
  // Only backward() can go through a checkpoint.
  EXPECT_THROW(grad_of_one("{every: 1}"), base::InternalError);
}

TEST(ModelAssembly, BatchNormIsSynchronisedWhereThereIsSomethingToSynchronise) {
  const auto registries = make_registries();
  const auto forward_is_collective = [&](const std::string& model, int world_size,
                                         std::vector<std::string>& notes) {
    const std::string text = "model: {" + model + "}\nparallel: {sync_batch_norm: true}";
    const auto recipe =
        config::bind<Recipe>(config::parse_yaml(text, "test.yaml"), {registries->catalogs(), 1});
    const auto built = make_task(recipe, *registries);
    const auto ranks = comm::make_fake_communicator(0, world_size);
    return synchronise_batch_norm(recipe, built->network(), *ranks, notes).is_forward_collective;
  };
  std::vector<std::string> notes;
  EXPECT_TRUE(forward_is_collective("name: resnet18, num_classes: 2", 4, notes));
  EXPECT_THAT(notes, ::testing::IsEmpty());
  EXPECT_FALSE(forward_is_collective("name: resnet18, num_classes: 2", 1, notes));
  EXPECT_THAT(notes, ::testing::ElementsAre(::testing::HasSubstr("on one rank")));
  const std::string vit =
      "name: vit, num_classes: 2, img_size: 8, patch_size: 4, embed_dim: 8, depth: 1, num_heads: 2";
  EXPECT_THAT([&] { forward_is_collective(vit, 4, notes); },
              ::testing::ThrowsMessage<base::ConfigError>(
                  ::testing::HasSubstr("parallel.sync_batch_norm: vit has no BatchNorm")));
}

TEST(ModelAssembly, GroupsOfNeighboursShareBatchNormStatistics) {
  const auto registries = make_registries();
  const auto group_of = [&](const std::string& parallel, comm::Communicator& ranks) {
    const auto recipe = config::bind<Recipe>(
        config::parse_yaml("model: {name: resnet18, num_classes: 2}\nparallel: {" + parallel + "}",
                           "test.yaml"),
        {registries->catalogs(), 1});
    const auto built = make_task(recipe, *registries);
    std::vector<std::string> notes;
    return synchronise_batch_norm(recipe, built->network(), ranks, notes);
  };
  test::run_ranks(4, [&](comm::Communicator& ranks) {
    const BatchNormGroup group =
        group_of("sync_batch_norm: true, sync_batch_norm_group_size: 2", ranks);
    ASSERT_NE(group.ranks, nullptr);
    EXPECT_TRUE(group.is_forward_collective);
    EXPECT_EQ(group.ranks->world_size(), 2);
    const auto members = group.ranks->all_gather_text(std::to_string(ranks.rank()));
    EXPECT_THAT(members, ranks.rank() < 2 ? ::testing::ElementsAre("0", "1")
                                          : ::testing::ElementsAre("2", "3"));
    const BatchNormGroup all = group_of("sync_batch_norm: true", ranks);
    ASSERT_NE(all.ranks, nullptr) << "not the group that sums gradients";
    EXPECT_EQ(all.ranks->world_size(), 4);
    EXPECT_THAT([&] { group_of("sync_batch_norm: true, sync_batch_norm_group_size: 3", ranks); },
                ::testing::ThrowsMessage<base::ConfigError>(
                    ::testing::HasSubstr("does not divide the 4 ranks")));
    EXPECT_THAT([&] { group_of("sync_batch_norm_group_size: 2", ranks); },
                ::testing::ThrowsMessage<base::ConfigError>(
                    ::testing::HasSubstr("needs parallel.sync_batch_norm: true")));
  });
}

TEST(ModelAssembly, TheMostExactNameScalesTheLearningRate) {
  const auto registries = make_registries();
  const auto recipe = config::bind<Recipe>(
      config::parse_yaml("model: {name: vit, img_size: 8, patch_size: 4, embed_dim: 8, depth: 2, "
                         "num_heads: 2}\n"
                         "optimizer: {lr_scale: {'blocks.*': 2, blocks.0: 3, '*.bias': 5, head: 7, "
                         "head.bias: 11}}",
                         "test.yaml"),
      registries->context(1));
  const auto model = make_task(recipe, *registries);
  const auto plan = registries->optimizers.build(recipe.optimizer);
  const auto rules = group_rules(*plan, model->network());
  const auto scale_of = [&](const std::string& name) {
    return rules[optim::match_rule(rules, name, at::zeros({2, 2}))].lr_scale;
  };
  EXPECT_EQ(scale_of("blocks.0.norm1.weight"), 3);
  EXPECT_EQ(scale_of("blocks.1.norm1.weight"), 2);
  EXPECT_EQ(scale_of("norm.bias"), 5);
  EXPECT_EQ(scale_of("head.weight"), 7);
  EXPECT_EQ(scale_of("head.bias"), 11);
  EXPECT_EQ(scale_of("norm.weight"), 1);
}

TEST(ModelAssembly, FactorsOfPartsCountBesideTheDecayByLayer) {
  const auto registries = make_registries();
  const auto recipe = config::bind<Recipe>(
      config::parse_yaml("model: {name: vit, num_classes: 2, img_size: 8, patch_size: 4,\n"
                         "        embed_dim: 8, depth: 2, num_heads: 2}\n"
                         "optimizer: {name: adamw, layer_decay: 0.5, lr_scale: {head: 3}}\n",
                         "test.yaml"),
      registries->context(1));
  const auto model = make_task(recipe, *registries);
  const auto rules = group_rules(*registries->optimizers.build(recipe.optimizer), model->network());
  const auto group_of = [&](const std::string& name, const at::Tensor& parameter) {
    return rules[optim::match_rule(rules, name, parameter)];
  };
  const at::Tensor matrix = at::zeros({2, 2}), vector = at::zeros({2});
  EXPECT_EQ(group_of("head.weight", matrix).lr_scale, 3);
  EXPECT_EQ(group_of("norm.weight", vector).lr_scale, 0.5);
  EXPECT_EQ(group_of("blocks.1.mlp.fc1.weight", matrix).lr_scale, 0.5);
  EXPECT_EQ(group_of("blocks.0.mlp.fc1.weight", matrix).lr_scale, 0.25);
  EXPECT_EQ(group_of("patch_embed.proj.weight", matrix).lr_scale, 0.125);
  EXPECT_EQ(group_of("blocks.0.mlp.fc1.bias", vector).weight_decay, 0);
  EXPECT_GT(group_of("blocks.0.mlp.fc1.weight", matrix).weight_decay, 0);
}

}  // namespace
}  // namespace paceline::app
