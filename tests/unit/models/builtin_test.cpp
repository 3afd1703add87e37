#include "paceline/models/builtin.h"

#include "paceline/nn/blocks/folded_conv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::models {
namespace {

Registry builtin() {
  Registry registry("model");
  add_builtin(registry);
  return registry;
}

TEST(BuiltinModels, AreNamedAsTorchvisionAndTimmNameThem) {
  EXPECT_THAT(builtin().names(), testing::IsSupersetOf({"convnext",
                                                        "convnext_tiny",
                                                        "convnext_small",
                                                        "convnext_base",
                                                        "convnext_large",
                                                        "convnextv2_atto",
                                                        "convnextv2_femto",
                                                        "convnextv2_pico",
                                                        "convnextv2_nano",
                                                        "convnextv2_tiny",
                                                        "convnextv2_small",
                                                        "convnextv2_base",
                                                        "convnextv2_large",
                                                        "mobilenet_v3_small",
                                                        "mobilenet_v3_large",
                                                        "efficientnet_b0",
                                                        "efficientnet_b1",
                                                        "efficientnet_b2",
                                                        "efficientnet_b3",
                                                        "efficientnet_b4",
                                                        "efficientnet_v2_s",
                                                        "resnet18",
                                                        "resnet34",
                                                        "resnet50",
                                                        "resnet101",
                                                        "resnet152",
                                                        "vit",
                                                        "vit_tiny_patch16_224",
                                                        "vit_small_patch16_224",
                                                        "vit_base_patch16_224",
                                                        "vit_tiny_patch32_224",
                                                        "vit_small_patch32_224",
                                                        "vit_base_patch32_224"}));
}

TEST(BuiltinModels, PresetsHaveTheirOwnDefaults) {
  const Registry registry = builtin();
  const config::ComponentEntry* entry = registry.find("vit_small_patch32_224");
  ASSERT_NE(entry, nullptr);
  const auto options = std::static_pointer_cast<const VitConfig>(entry->make());
  EXPECT_EQ(options->patch_size, 32);
  EXPECT_EQ(options->embed_dim, 384);
  EXPECT_EQ(options->num_heads, 6);
}

TEST(BuiltinModels, VitOfAnySizeCanBeBuilt) {
  const VitConfig tiny{
      .num_classes = 10, .img_size = 32, .patch_size = 8, .embed_dim = 64, .num_heads = 4};
  const auto model = builtin().build(config::Component::of("vit", tiny));
  model->initialize(1);
  EXPECT_EQ(model->forward({{"images", at::ones({2, 3, 32, 32})}}, {}).sizes(),
            (std::vector<std::int64_t>{2, 10}));
}

TEST(BuiltinModels, SizesThatDoNotDivideAreProblemsOfTheRecipe) {
  config::Problems problems;
  config::Schema<VitConfig>::validate({.img_size = 30, .patch_size = 16, .embed_dim = 64},
                                      problems);
  EXPECT_EQ(problems.size(), 2u);
}

/// Gives each BatchNorm statistics and factors of its own.
void disturb_norms(nn::Network& network) {
  double value = 0.5;
  network.apply([&](torch::nn::Module& module) {
    auto* const norm = module.as<nn::BatchNorm2d>();
    if (norm == nullptr) return;
    norm->running_mean.fill_(0.02 * value);
    norm->running_var.fill_(value);
    norm->weight.fill_(1.5 - 0.5 * value);
    norm->bias.fill_(0.05 * value);
    value = value > 1.5 ? 0.5 : value + 0.1;
  });
}

TEST(BuiltinModels, GiveTheSameLogitsWithTheirNormsFolded) {
  const at::NoGradGuard no_grad;
  const at::Tensor images = at::linspace(-2, 2, 2 * 3 * 32 * 32).mul(50).sin().view({2, 3, 32, 32});
  const Registry registry = builtin();
  for (const char* name : {"resnet18", "resnet50d", "resnext50_32x4d", "resnet9", "resnet20",
                           "mobilenet_v3_small", "efficientnet_b0", "efficientnet_v2_s"}) {
    const config::ComponentEntry& entry = *registry.find(name);
    const auto model = registry.build({name, entry.info, entry.make()});
    model->initialize(1);
    disturb_norms(*model);
    nn::set_training(*model, false);
    const at::Tensor wanted = model->forward({{"images", images}}, {});
    EXPECT_GT(nn::fold_norms(*model, at::kFloat), 0) << name;
    const at::Tensor got = model->forward({{"images", images}}, {});
    EXPECT_FALSE(got.equal(wanted)) << name << ": nothing was folded";
    EXPECT_LT((got - wanted).abs().max().item<double>(), 1e-4 * wanted.abs().max().item<double>())
        << name;
  }
}

}  // namespace
}  // namespace paceline::models
