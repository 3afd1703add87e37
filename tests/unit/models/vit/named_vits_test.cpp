#include "paceline/models/vit/named_vits.h"

#include "paceline/models/vit/vit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::models {
namespace {

config::Registry<nn::Network> vits() {
  config::Registry<nn::Network> registry("model");
  add_vits(registry);
  return registry;
}

VitConfig vit_defaults(const std::string& name) {
  const auto registry = vits();
  const config::ComponentEntry* entry = registry.find(name);
  PACELINE_CHECK(entry != nullptr, "no model {}", name);
  return *std::static_pointer_cast<const VitConfig>(entry->make());
}

// That each is timm's of that name is the golden test's to say.
TEST(NamedVits, AreTimmsAndTwoOfOurOwn) {
  const auto names = vits().names();
  EXPECT_EQ(names.size(), 43u);
  EXPECT_THAT(names, testing::IsSupersetOf(
                         {"vit", "vit_tiny_patch32_224", "vit_huge_patch14_224",
                          "vit_large_patch32_384", "vit_base_patch16_reg4_gap_256",
                          "vit_small_patch14_reg4_dinov2", "deit_base_patch16_384",
                          "deit_tiny_distilled_patch16_224", "deit3_medium_patch16_224"}));
}

TEST(NamedVits, HaveTheirOwnDefaults) {
  EXPECT_EQ(vit_defaults("vit_large_patch16_384").img_size, config::Sides(384));
  EXPECT_EQ(vit_defaults("vit_huge_patch14_224").depth, 32);
  EXPECT_EQ(vit_defaults("vit_huge_patch14_224").patch_size, 14);
  EXPECT_EQ(vit_defaults("deit3_small_patch16_224").init_values, 1e-6);
  EXPECT_TRUE(vit_defaults("deit3_small_patch16_224").no_embed_class);
  EXPECT_TRUE(vit_defaults("deit_small_distilled_patch16_224").distilled);
  EXPECT_FALSE(vit_defaults("deit_small_patch16_224").distilled);
  EXPECT_EQ(vit_defaults("vit_base_patch14_reg4_dinov2").reg_tokens, 4);
  EXPECT_EQ(vit_defaults("vit_base_patch14_dinov2").reg_tokens, 0);
  EXPECT_EQ(vit_defaults("vit_base_patch14_dinov2").init_values, 1e-5);
  EXPECT_FALSE(vit_defaults("vit_base_patch16_reg4_gap_256").class_token);
}

}  // namespace
}  // namespace paceline::models
