#include "paceline/models/vit/fused_block.h"

#include "paceline/base/error.h"
#include "paceline/models/vit/vit.h"
#include "paceline/nn/losses.h"
#include "paceline/nn/module_tree.h"
#include "paceline/tensor/autocast.h"

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

VitConfig config(FusedMode fused) {
  return {.num_classes = 7,
          .img_size = 32,
          .patch_size = 8,
          .embed_dim = 48,
          .depth = 4,
          .num_heads = 3,
          .fused = fused};
}

struct Result {
  at::Tensor logits;
  at::Tensor image_grad;
  std::vector<nn::NamedTensor> parameters;
};

/// Logits and gradients of one step; weights are large enough for every gradient to matter.
Result run(FusedMode fused, at::ScalarType dtype) {
  Vit vit(config(fused));
  vit.initialize(11);
  nn::set_dtype(vit, dtype);
  {
    const at::NoGradGuard no_grad;
    for (const nn::NamedTensor& item : nn::named_parameters(vit)) {
      if (item.tensor.dim() == 2) item.tensor.mul_(8.0);
    }
  }
  const at::Tensor images = at::linspace(-2, 2, 3 * 3 * 32 * 32, at::kDouble)
                                .sin()
                                .view({3, 3, 32, 32})
                                .to(dtype)
                                .requires_grad_();
  const at::Tensor logits = vit.forward_images(images, {});
  nn::CrossEntropy({}).sum(logits, at::tensor({1, 4, 6}, at::kLong)).backward();
  return {logits.detach(), images.grad(), nn::named_parameters(vit)};
}

double relative_difference(const at::Tensor& got, const at::Tensor& wanted) {
  return ((got - wanted).abs().max() / wanted.abs().max()).item<double>();
}

void expect_equal_results(at::ScalarType dtype, double tolerance) {
  const Result fused = run(FusedMode::kOn, dtype);
  const Result plain = run(FusedMode::kOff, dtype);
  EXPECT_LE(relative_difference(fused.logits, plain.logits), tolerance);
  EXPECT_LE(relative_difference(fused.image_grad, plain.image_grad), tolerance);
  for (std::size_t i = 0; i < plain.parameters.size(); ++i) {
    const at::Tensor& wanted = plain.parameters[i].tensor.grad();
    EXPECT_LE(relative_difference(fused.parameters[i].tensor.grad(), wanted), tolerance)
        << plain.parameters[i].name;
    EXPECT_GT(wanted.abs().max().item<double>(), 0.0) << plain.parameters[i].name;
  }
}

TEST(FusedVitBlock, EqualsItsTwinInFloat64) { expect_equal_results(at::kDouble, 1e-12); }

TEST(FusedVitBlock, EqualsItsTwinInFloat32) { expect_equal_results(at::kFloat, 5e-7); }

TEST(FusedVitBlock, IsUsedUnlessSomethingDrops) {
  const auto node_of = [](double drop_rate, FusedMode fused) {
    const VitBlock block(
        {.dim = 48, .num_heads = 3, .mlp_dim = 192, .proj_drop_rate = drop_rate, .fused = fused},
        0);
    return block.forward(at::ones({4, 48}).requires_grad_(), {2, 2}, {}).grad_fn()->name();
  };
  const std::string fused_name = node_of(0.0, FusedMode::kOn);
  EXPECT_EQ(node_of(0.0, FusedMode::kAuto), fused_name);
  EXPECT_NE(node_of(0.0, FusedMode::kOff), fused_name);
  EXPECT_NE(node_of(0.5, FusedMode::kAuto), fused_name);
  EXPECT_THROW(node_of(0.5, FusedMode::kOn), base::ConfigError);
}

TEST(FusedVitBlock, AutocastRunsItsTwin) {
  const auto logits = [](FusedMode fused) {
    Vit vit(config(fused));
    vit.initialize(3);
    const tensor::AutocastGuard autocast(at::kCPU, at::kBFloat16);
    return vit.forward_images(at::linspace(-1, 1, 3 * 32 * 32).view({1, 3, 32, 32}), {}).detach();
  };
  const at::Tensor plain = logits(FusedMode::kOff);
  EXPECT_EQ(plain.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(logits(FusedMode::kAuto), plain));
  EXPECT_THROW(logits(FusedMode::kOn), base::ConfigError);
}

TEST(FusedVitBlock, NoticesWeightsChangedBeforeBackward) {
  Vit vit(config(FusedMode::kOn));
  vit.initialize(1);
  const at::Tensor loss = vit.forward_images(at::ones({1, 3, 32, 32}), {}).sum();
  {
    const at::NoGradGuard no_grad;
    for (const nn::NamedTensor& item : nn::named_parameters(vit)) item.tensor.add_(1.0);
  }
  EXPECT_THROW(loss.backward(), c10::Error);
}

}  // namespace
}  // namespace paceline::models
