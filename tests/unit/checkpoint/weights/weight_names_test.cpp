#include "paceline/checkpoint/weights/weight_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(WeightNames, OurOwnStayAsTheyAre) {
  const std::vector<std::string> names{"conv1.weight", "module.weight", "blocks.0.norm1.bias"};
  const TranslatedNames translated = translate_weight_names(names);
  EXPECT_EQ(translated.names, names) << "a wrapper stands before all names";
  EXPECT_THAT(translated.notes, IsEmpty());
  EXPECT_THAT(translate_weight_names({}).names, IsEmpty());
}

TEST(WeightNames, WrappersInAnyOrder) {
  for (const std::string wrapper :
       {"module.", "_orig_mod.module.", "module._orig_mod.", "model."}) {
    const TranslatedNames translated =
        translate_weight_names(std::vector{wrapper + "fc.weight", wrapper + "fc.bias"});
    EXPECT_THAT(translated.names, ElementsAre("fc.weight", "fc.bias"));
    EXPECT_THAT(translated.notes, ElementsAre(HasSubstr(wrapper)));
  }
}

TEST(WeightNames, TorchvisionsVit) {
  const std::string block = "encoder.layers.encoder_layer_11.";
  const std::vector<std::string> names{"class_token",
                                       "conv_proj.weight",
                                       "encoder.pos_embedding",
                                       block + "ln_1.weight",
                                       block + "self_attention.in_proj_weight",
                                       block + "self_attention.in_proj_bias",
                                       block + "self_attention.out_proj.weight",
                                       block + "ln_2.bias",
                                       block + "mlp.0.weight",
                                       block + "mlp.3.bias",
                                       block + "mlp.linear_1.bias",
                                       block + "mlp.linear_2.weight",
                                       "encoder.ln.weight",
                                       "heads.head.bias"};
  const TranslatedNames translated = translate_weight_names(names);
  EXPECT_THAT(
      translated.names,
      ElementsAre("cls_token", "patch_embed.proj.weight", "pos_embed", "blocks.11.norm1.weight",
                  "blocks.11.attn.qkv.weight", "blocks.11.attn.qkv.bias",
                  "blocks.11.attn.proj.weight", "blocks.11.norm2.bias", "blocks.11.mlp.fc1.weight",
                  "blocks.11.mlp.fc2.bias", "blocks.11.mlp.fc1.bias", "blocks.11.mlp.fc2.weight",
                  "norm.weight", "head.bias"));
  EXPECT_THAT(translated.notes, ElementsAre(HasSubstr("timm's")));
}

}  // namespace
}  // namespace paceline::checkpoint
