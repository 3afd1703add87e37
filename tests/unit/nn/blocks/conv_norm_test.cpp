#include "paceline/nn/blocks/conv_norm.h"

#include "paceline/nn/init.h"
#include "paceline/nn/module_tree.h"

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(ConvNorm, ConvolvesNormalisesAndActivates) {
  const ConvNorm layer(2, 4, {.kernel_size = 5, .stride = 2, .activation = Activation::kRelu});
  for (const NamedTensor& item : named_parameters(layer))
    if (item.tensor.dim() == 4) default_weight(item.tensor, {.seed = 1});
  const at::Tensor y = layer.forward(at::linspace(-1, 1, 3 * 2 * 9 * 8).sin().view({3, 2, 9, 8}));
  EXPECT_EQ(y.sizes(), (std::vector<std::int64_t>{3, 4, 5, 4}));
  EXPECT_GE(y.min().item<double>(), 0.0);
  ImageSize size{9, 8};
  LayerCosts costs;
  layer.count(size, costs);
  EXPECT_DOUBLE_EQ(costs.flops(), 2.0 * 4 * 2 * 25 * 5 * 4);
  EXPECT_EQ(size.height, 5);
  EXPECT_EQ(size.width, 4);
}

TEST(ConvNorm, HasTorchvisionsNamesAndTheNormsOptions) {
  const ConvNorm layer(8, 8, {.groups = 8, .norm_eps = 1e-3, .norm_momentum = 0.01});
  const std::vector<NamedTensor> state = state_dict(layer);
  EXPECT_EQ(state[0].name, "0.weight");
  EXPECT_EQ(state[0].tensor.size(1), 1);
  EXPECT_EQ(state[1].name, "1.weight");
  const auto* norm = layer.named_children()["1"]->as<BatchNorm2d>();
  EXPECT_EQ(norm->eps(), 1e-3);
  EXPECT_EQ(norm->momentum(), 0.01);
}

TEST(ConvNorm, FoldsItsNorm) {
  const at::NoGradGuard no_grad;
  for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kSilu}) {
    ConvNorm layer(2, 4, {.kernel_size = 3, .activation = activation});
    for (const NamedTensor& item : state_dict(layer)) {
      if (item.tensor.dim() == 4) default_weight(item.tensor, {.seed = 1});
      if (item.name == "1.running_var") item.tensor.fill_(0.25);
    }
    layer.eval();
    const at::Tensor input = at::linspace(-1, 1, 2 * 2 * 9 * 8).sin().view({2, 2, 9, 8});
    const at::Tensor expected = layer.forward(input);
    EXPECT_EQ(fold_norms(layer, at::kFloat), 1);
    const at::Tensor got = layer.forward(input);
    EXPECT_FALSE(got.equal(expected)) << "folding shows in the last bits";
    EXPECT_TRUE(at::allclose(got, expected, 1e-5, 1e-6));
  }
}

}  // namespace
}  // namespace paceline::nn
