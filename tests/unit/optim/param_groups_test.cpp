#include "paceline/optim/param_groups.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::optim {
namespace {

TEST(ParamGroups, NormsBiasesAndListedNamesDoNotDecay) {
  const auto rules = weight_decay_rules(0.05, false, embedding_names());
  const auto decay_of = [&](const std::string& name, const at::Tensor& parameter) {
    return rules[match_rule(rules, name, parameter)].weight_decay;
  };
  EXPECT_EQ(decay_of("layer1.0.conv1.weight", at::zeros({2, 2, 3, 3})), 0.05);
  EXPECT_EQ(decay_of("layer1.0.bn1.weight", at::zeros({2})), 0.0);
  EXPECT_EQ(decay_of("fc.bias", at::zeros({2})), 0.0);
  EXPECT_EQ(decay_of("logit_scale", at::zeros({})), 0.0);
  EXPECT_EQ(decay_of("pos_embed", at::zeros({1, 5, 2})), 0.0);
  EXPECT_EQ(decay_of("encoder.cls_token", at::zeros({1, 1, 2})), 0.0);
  EXPECT_EQ(decay_of("dist_token", at::zeros({1, 1, 2})), 0.0);
  EXPECT_EQ(decay_of("reg_token", at::zeros({1, 4, 2})), 0.0);
  EXPECT_EQ(decay_of("pos_embedding.weight", at::zeros({5, 2})), 0.05);
}

TEST(ParamGroups, PatternsOfWholeNamesDoNotDecay) {
  const std::vector<std::string> listed{"blocks.*.gamma", "head.weight"};
  const auto rules = weight_decay_rules(0.05, false, listed);
  const auto decay_of = [&](const std::string& name) {
    return rules[match_rule(rules, name, at::zeros({2, 2}))].weight_decay;
  };
  EXPECT_EQ(decay_of("blocks.3.ls1.gamma"), 0.0);
  EXPECT_EQ(decay_of("head.weight"), 0.0);
  EXPECT_EQ(decay_of("blocks.3.attn.proj.weight"), 0.05);
  EXPECT_EQ(decay_of("stem.gamma"), 0.05);
}

TEST(ParamGroups, LayersLearnTheFasterTheLaterTheyAre) {
  const std::vector<std::vector<std::string>> layers{
      {"patch_embed"}, {"blocks.0"}, {"downsample", "blocks.1"}, {"head"}};
  const auto scales = layer_scales(0.5, layers);
  const auto factor_of = [&](const std::string& name) {
    return std::ranges::find_if(scales, [&](const PartScale& scale) { return scale.matches(name); })
        ->factor;
  };
  EXPECT_EQ(factor_of("patch_embed.proj.weight"), 0.125);
  EXPECT_EQ(factor_of("blocks.0.weight"), 0.25);
  EXPECT_EQ(factor_of("blocks.1.weight"), 0.5);
  EXPECT_EQ(factor_of("downsample.weight"), 0.5);
  EXPECT_EQ(factor_of("blocks.10.weight"), 0.5);  // none of the blocks
  EXPECT_EQ(factor_of("norm.weight"), 0.5);
  EXPECT_EQ(factor_of("head.weight"), 1);
}

TEST(ParamGroups, EverythingDecaysOnRequest) {
  const auto rules = weight_decay_rules(0.05, true, {});
  EXPECT_EQ(rules[match_rule(rules, "bn1.weight", at::zeros({2}))].weight_decay, 0.05);
}

TEST(ParamGroups, AParameterThatNoRuleTakesIsNamed) {
  const std::vector<GroupRule> rules{
      {.name = "none", .matches = [](const std::string&, const at::Tensor&) { return false; }}};
  EXPECT_THAT([&] { match_rule(rules, "fc.bias", at::zeros({2})); },
              testing::ThrowsMessage<base::ConfigError>(testing::HasSubstr("'fc.bias'")));
}

TEST(ParamGroups, PartsHaveLearningRatesOfTheirOwn) {
  const auto rules = weight_decay_rules(0.05, false, {});
  const auto starts_with = [](std::string start) {
    return [start = std::move(start)](const std::string& name) { return name.starts_with(start); };
  };
  const std::vector<PartScale> scales{{"fc.bias", 3, starts_with("fc.bias")},
                                      {"fc", 10, starts_with("fc.")}};
  const auto scaled = scale_learning_rates(rules, scales);
  const auto group_of = [&](const std::string& name, const at::Tensor& parameter) {
    return scaled[match_rule(scaled, name, parameter)];
  };
  EXPECT_EQ(group_of("fc.weight", at::zeros({2, 2})).lr_scale, 10);
  EXPECT_EQ(group_of("fc.weight", at::zeros({2, 2})).weight_decay, 0.05);
  EXPECT_EQ(group_of("fc.bias", at::zeros({2})).lr_scale, 3);  // the first that holds it
  EXPECT_EQ(group_of("fc.bias", at::zeros({2})).weight_decay, 0);
  EXPECT_EQ(group_of("conv1.weight", at::zeros({2, 2})).lr_scale, 1);
  EXPECT_EQ(scale_learning_rates(rules, {}).size(), rules.size());
}

TEST(ParamGroups, PartsDecayAsTheyAreTold) {
  const auto rules = weight_decay_rules(0.05, true, {});
  const auto is_bias = [](const std::string& name) { return name.ends_with("bias"); };
  const std::vector<PartScale> scales{{"*.bias", 4, is_bias}};
  const auto scaled = scale_weight_decays(scale_learning_rates(rules, scales),
                                          std::vector<PartScale>{{"*.bias", 0.25, is_bias}});
  const GroupRule& bias = scaled[match_rule(scaled, "fc.bias", at::zeros({2}))];
  EXPECT_EQ(bias.weight_decay, 0.0125);
  EXPECT_EQ(bias.lr_scale, 4);
  const GroupRule& weight = scaled[match_rule(scaled, "fc.weight", at::zeros({2, 2}))];
  EXPECT_EQ(weight.weight_decay, 0.05);
  EXPECT_EQ(weight.lr_scale, 1);
}

}  // namespace
}  // namespace paceline::optim
