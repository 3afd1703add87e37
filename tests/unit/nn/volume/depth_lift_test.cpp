#include "paceline/nn/volume/depth_lift.h"

#include "paceline/nn/module_tree.h"
#include "paceline/tensor/draws.h"

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

void fill_lift(const DepthLift& lift) {
  std::uint64_t index = 0;
  for (const NamedTensor& item : named_parameters(lift)) {
    if (!item.name.starts_with("norm")) tensor::fill_normal(item.tensor, 0, 0.3, {.index = index});
    ++index;
  }
}

TEST(DepthLift, SpreadsAValueOverTheLayers) {
  const DepthLift lift(64, 5);
  fill_lift(lift);
  const at::Tensor features = at::arange(2 * 64 * 12).mul(1.7).sin().view({2, 64, 3, 4});
  const at::Tensor layers = lift.forward(features);
  ASSERT_EQ(layers.sizes(), (std::vector<std::int64_t>{2, 5, 3, 4}));
  // Weights add up to the number of layers, so their mean is the value.
  const auto parameters = lift.named_parameters();
  const at::Tensor value =
      at::conv2d(features, parameters["value.weight"], parameters["value.bias"]);
  EXPECT_TRUE(layers.mean(1, true).allclose(value, 1e-5, 1e-6));
  EXPECT_FALSE(layers.allclose(value.expand_as(layers), 1e-2, 1e-2));
}

TEST(DepthLift, CountsItsConvolutions) {
  LayerCosts costs;
  DepthLift(64, 5).count({3, 4}, costs);
  EXPECT_EQ(costs.flops(), 2.0 * 12 * (9 * 64 * 16 + 16 * 5 + 64));
}

}  // namespace
}  // namespace paceline::nn
