#include "paceline/models/vit/vit_init.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

/// A parameter of these sizes, drawn in a ViT of seven classes; the golden test knows the rest.
at::Tensor drawn(VitInit init, const std::string& name, at::IntArrayRef sizes) {
  const VitConfig config{.num_classes = 7, .init_values = 0.25, .weight_init = init};
  const at::Tensor tensor = at::empty(sizes);
  initialize_vit_parameter(config, at::empty({4, 3, 2, 2}), {name, tensor}, {.seed = 3});
  return tensor;
}

TEST(VitInit, JaxStartsHeadsFromZeros) {
  for (const char* name : {"head.weight", "head_dist.weight"}) {
    EXPECT_EQ(drawn(VitInit::kJax, name, {7, 8}).abs().max().item<float>(), 0.0f);
    EXPECT_GT(drawn(VitInit::kTimm, name, {7, 8}).abs().max().item<float>(), 0.0f);
    EXPECT_GT(drawn(VitInit::kMoco, name, {7, 8}).abs().max().item<float>(), 0.0f);
  }
  EXPECT_EQ(drawn(VitInit::kJax, "head.bias", {7}).abs().max().item<float>(), 0.0f);
  EXPECT_FLOAT_EQ(drawn(VitInit::kJaxNlhb, "head_dist.bias", {7})[3].item<float>(),
                  -std::log(7.0f));
}

TEST(VitInit, MocoDrawsQueriesKeysAndValuesAsMatricesOfTheirOwn) {
  const auto largest = [](VitInit init, const char* name) {
    return drawn(init, name, {300, 100}).abs().max().item<double>();
  };
  const double own = std::sqrt(6.0 / 200);
  EXPECT_NEAR(largest(VitInit::kMoco, "blocks.0.attn.qkv.weight"), own, 0.001);
  EXPECT_NEAR(largest(VitInit::kJax, "blocks.0.attn.qkv.weight"), std::sqrt(6.0 / 400), 0.001);
}

TEST(VitInit, LayerScaleStartsAtItsValue) {
  EXPECT_TRUE(at::equal(drawn(VitInit::kTimm, "blocks.1.ls2.gamma", {5}), at::full({5}, 0.25)));
}

}  // namespace
}  // namespace paceline::models
