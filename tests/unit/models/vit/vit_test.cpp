#include "paceline/models/vit/vit.h"

#include "paceline/base/error.h"
#include "paceline/nn/module_tree.h"

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

constexpr VitConfig kSmall{
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
  Vit vit(kSmall);
  EXPECT_THROW(vit.forward_images(at::ones({1, 3, 32, 32}), {}), base::ConfigError);
  EXPECT_THROW(vit.flops_per_image(32, 32), base::ConfigError);
}

}  // namespace
}  // namespace paceline::models
