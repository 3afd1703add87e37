#include "paceline/models/builtin.h"

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

}  // namespace
}  // namespace paceline::models
