#include "paceline/models/vit/vit.h"

#include "paceline/base/error.h"
#include "paceline/nn/module_tree.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::models {
namespace {

const VitConfig kSmall{
    .num_classes = 5, .img_size = 16, .patch_size = 4, .embed_dim = 32, .depth = 3, .num_heads = 2};

at::Tensor images(std::int64_t batch) {
  return at::linspace(-2, 2, batch * 3 * 16 * 16).view({batch, 3, 16, 16});
}

VitConfig with_drops() {
  VitConfig config = kSmall;
  config.drop_rate = 0.2;
  config.pos_drop_rate = 0.1;
  config.proj_drop_rate = 0.1;
  config.attn_drop_rate = 0.1;
  config.drop_path_rate = 0.5;
  return config;
}

TEST(Vit, DropsDependOnTheSampleAndNotOnItsBatch) {
  Vit vit(with_drops());
  vit.initialize(1);
  const at::NoGradGuard no_grad;
  const at::Tensor all = images(6);
  const at::Tensor whole = vit.forward_images(all, {.seed = 9, .step = 4, .first_position = 100});
  const at::Tensor head = vit.forward_images(all.slice(0, 0, 2), {9, 4, 100});
  const at::Tensor tail = vit.forward_images(all.slice(0, 2, 6), {9, 4, 102});
  EXPECT_TRUE(at::allclose(whole, at::cat({head, tail}), 1e-5, 1e-6));
  EXPECT_FALSE(at::allclose(whole, vit.forward_images(all, {9, 5, 100}), 1e-3, 1e-3));
  EXPECT_FALSE(at::allclose(whole, vit.forward_images(all, {8, 4, 100}), 1e-3, 1e-3));
}

TEST(Vit, DropsAreOffInEvaluation) {
  Vit dropping(with_drops());
  Vit plain(kSmall);
  dropping.initialize(1);
  plain.initialize(1);
  nn::set_training(dropping, false);
  EXPECT_TRUE(
      at::equal(dropping.forward_images(images(2), {}), plain.forward_images(images(2), {})));
}

TEST(Vit, AttentionWithDropoutEqualsTheFusedKernelWhereNothingIsDropped) {
  VitConfig config = kSmall;
  config.attn_drop_rate = 1e-15;
  Vit dropping(config);
  Vit plain(kSmall);
  for (Vit* vit : {&dropping, &plain}) {
    vit->initialize(2);
    nn::set_dtype(*vit, at::kDouble);
  }
  const at::Tensor x = images(3).to(at::kDouble);
  EXPECT_TRUE(
      at::allclose(dropping.forward_images(x, {}), plain.forward_images(x, {}), 1e-11, 1e-12));
}

TEST(Vit, LeavesTheDefaultGeneratorUnchanged) {
  const auto state = [] { return at::globalContext().defaultGenerator(at::kCPU).get_state(); };
  const at::Tensor before = state();
  Vit vit(with_drops());
  vit.initialize(1);
  vit.forward_images(images(2), {}).sum().backward();
  EXPECT_TRUE(at::equal(before, state()));
}

TEST(Vit, NamesTheSizesItCannotTake) {
  EXPECT_THROW(Vit({.img_size = 30, .patch_size = 16}), base::ConfigError);
  EXPECT_THROW(Vit({.embed_dim = 65, .num_heads = 2}), base::ConfigError);
  EXPECT_THROW(Vit({.img_size = {16, 32}, .patch_size = 32}), base::ConfigError);
  Vit vit(kSmall);
  EXPECT_THROW(vit.forward_images(at::ones({1, 3, 32, 32}), {}), base::ConfigError);
  EXPECT_THROW(vit.flops_per_image(32, 32), base::ConfigError);
}

TEST(Vit, TellsHowToGiveItTheSizeOfTheImages) {
  VitConfig config = kSmall;
  config.img_size = {16, 32};
  EXPECT_THAT([&] { Vit(config).flops_per_image(32, 16); },
              testing::ThrowsMessage<base::ConfigError>(testing::AllOf(
                  testing::HasSubstr("images of 16x32 pixels, got 32x16: set model.img_size"),
                  testing::HasSubstr("data.image_size=[16, 32]"))));
  config.dynamic_img_size = true;
  EXPECT_THAT([&] { Vit(config).flops_per_image(32, 18); },
              testing::ThrowsMessage<base::ConfigError>(
                  testing::HasSubstr("model.patch_size: this ViT takes images whose sides are "
                                     "multiples of 4 pixels, got 32x18")));
}

/// The options that a recipe's problems name.
std::vector<std::string> contradictions(const VitConfig& config) {
  config::Problems problems;
  config::Schema<VitConfig>::validate(config, problems);
  std::vector<std::string> keys;
  for (const config::Problem& problem : problems.all()) keys.push_back(problem.key);
  return keys;
}

TEST(Vit, OptionsThatContradictEachOtherAreProblemsOfTheRecipe) {
  using testing::ElementsAre;
  EXPECT_THAT(contradictions({}), ElementsAre());
  EXPECT_THAT(contradictions({.class_token = false}), ElementsAre("class_token"));
  EXPECT_THAT(contradictions({.class_token = false, .global_pool = VitPool::kAvg}), ElementsAre());
  EXPECT_THAT(contradictions({.reg_tokens = 4, .distilled = true}), ElementsAre("reg_tokens"));
  EXPECT_THAT(contradictions({.no_embed_class = true, .distilled = true}),
              ElementsAre("no_embed_class"));
  EXPECT_THAT(contradictions({.distilled = true, .global_pool = VitPool::kMax}),
              ElementsAre("global_pool"));
  EXPECT_THAT(contradictions({.distilled = true, .fc_norm = true}), ElementsAre("fc_norm"));
  VitConfig config;
  config.img_size.lengths = {224, 224, 224};
  EXPECT_THAT(contradictions(config), ElementsAre("img_size"));
}

TEST(Vit, LayersAreTheStemEachBlockAndTheHeads) {
  const auto holds = [](const Vit& vit, const std::string& name) {
    std::vector<std::size_t> found;
    const auto layers = vit.layer_names();
    for (std::size_t i = 0; i < layers.size(); ++i) {
      for (const std::string& prefix : layers[i]) {
        if (name == prefix || name.starts_with(prefix + ".")) found.push_back(i);
      }
    }
    return found;
  };
  VitConfig config = kSmall;
  config.pre_norm = true;
  for (const bool is_distilled : {true, false}) {
    config.distilled = is_distilled;
    config.reg_tokens = is_distilled ? 0 : 2;
    config.fc_norm = !is_distilled;
    const Vit vit(config);
    for (const nn::NamedTensor& item : nn::named_parameters(vit)) {
      const std::string& name = item.name;
      const bool is_head = name.starts_with("head") || name.starts_with("fc_norm");
      const std::size_t wanted = name.starts_with("blocks.") ? 1 + (name[7] - '0')
                                 : is_head                   ? 4
                                 : name.starts_with("norm.") ? 3
                                                             : 0;
      EXPECT_EQ(holds(vit, name), std::vector<std::size_t>{wanted}) << name;
    }
  }
  EXPECT_EQ(Vit(kSmall).head_names(), std::vector<std::string>{"head"});
  config = kSmall;
  config.distilled = true;
  EXPECT_EQ(Vit(config).head_names(), (std::vector<std::string>{"head", "head_dist"}));
}

TEST(Vit, DistilledOnesDropForEachHeadByItself) {
  VitConfig config = kSmall;
  config.distilled = true;
  config.drop_rate = 0.5;
  Vit vit(config);
  vit.initialize(1);
  {
    // Both heads see and compute the same, but for what is dropped.
    const at::NoGradGuard no_grad;
    for (const char* name : {"weight", "bias"})
      vit.named_parameters()[fmt::format("head_dist.{}", name)].copy_(
          vit.named_parameters()[fmt::format("head.{}", name)]);
    vit.named_parameters()["dist_token"].copy_(vit.named_parameters()["cls_token"]);
    const at::Tensor positions = vit.named_parameters()["pos_embed"];
    positions.select(1, 1).copy_(positions.select(1, 0));
  }
  const at::NoGradGuard no_grad;
  const at::Tensor both = vit.forward_images(images(2), {.seed = 3});
  vit.named_parameters()["head_dist.weight"].zero_();
  const at::Tensor half = vit.forward_images(images(2), {.seed = 3});
  EXPECT_GT((both - 2 * half).abs().max().item<double>(), 1e-3);
}

TEST(Vit, OfAnySizeIsTheSameAtItsOwn) {
  VitConfig config = kSmall;
  config.dynamic_img_size = true;
  Vit dynamic(config);
  Vit fixed(kSmall);
  dynamic.initialize(1);
  fixed.initialize(1);
  EXPECT_TRUE(
      at::equal(dynamic.forward_images(images(2), {}), fixed.forward_images(images(2), {})));
  const at::Tensor larger = at::linspace(-2, 2, 3 * 24 * 32).view({1, 3, 24, 32});
  dynamic.forward_images(larger, {}).sum().backward();
  EXPECT_GT(dynamic.named_parameters()["pos_embed"].grad().abs().max().item<double>(), 0.0);
  EXPECT_GT(dynamic.flops_per_image(24, 32), fixed.flops_per_image(16, 16));
}

TEST(Vit, AdaptsPositionsAndPatchesOnly) {
  const Vit vit(kSmall);
  using Sizes = std::vector<std::int64_t>;
  EXPECT_TRUE(vit.adapt_stored("pos_embed", Sizes{1, 50, 32}));
  EXPECT_TRUE(vit.adapt_stored("patch_embed.proj.weight", Sizes{32, 3, 16, 16}));
  EXPECT_FALSE(vit.adapt_stored("norm.weight", Sizes{16}));
  VitConfig config = kSmall;
  config.no_embed_class = true;
  EXPECT_FALSE(Vit(config).adapt_stored("pos_embed", Sizes{1, 50, 32}))
      << "the class token's position would be lost";
}

}  // namespace
}  // namespace paceline::models
