#include "paceline/app/assembly/factor_values.h"

#include "paceline/models/resnet/resnet.h"
#include "paceline/nn/conv.h"
#include "paceline/nn/factors/factors.h"
#include "paceline/nn/module_tree.h"
#include "paceline/tensor/storage.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

models::ResNetConfig one_block() { return {.num_classes = 3, .layers = {1}, .width = 8}; }

nn::Conv2d& conv_to_factorize(models::ResNet& network) {
  for (const auto& item : network.named_modules(/*name_prefix=*/{}, /*include_self=*/false)) {
    if (item.key() == "layer1.0.conv1") return dynamic_cast<nn::Conv2d&>(*item.value());
  }
  throw std::runtime_error("no such convolution");
}

TEST(FactorValues, KnowWhatWasThere) {
  models::ResNet network(one_block());
  const TensorOrigins origins(network);
  EXPECT_TRUE(factored_weights(network, origins).empty());
  nn::Conv2d& conv = conv_to_factorize(network);
  const at::Tensor whole = conv.weight;
  conv.factorize(2);
  const auto weights = factored_weights(network, origins);
  ASSERT_EQ(weights.size(), 1u);
  EXPECT_EQ(weights[0].whole.name, "layer1.0.conv1.weight");
  EXPECT_TRUE(weights[0].whole.tensor.is_same(whole));
  EXPECT_EQ(nn::named_parameters(network).at(weights[0].number).name, "layer1.0.conv1.weight");
  EXPECT_TRUE(weights[0].first.tensor.is_same(conv.to_latent()->weight));
  EXPECT_TRUE(weights[0].second.tensor.is_same(conv.weight));
  const FactorValues values(weights);
  EXPECT_NE(values.find(conv.weight), nullptr);
  EXPECT_EQ(values.find(conv.bias), nullptr);
  EXPECT_EQ(values.find(whole), nullptr);
  EXPECT_FALSE(values.is_stored("layer1.0.conv1.weight"));
}

TEST(FactorValues, AreThoseOfOneFillingInAnyOrder) {
  for (const bool first_comes_first : {false, true}) {
    models::ResNet network(one_block());
    const TensorOrigins origins(network);
    nn::Conv2d& conv = conv_to_factorize(network);
    conv.factorize(2);
    FactorValues values(factored_weights(network, origins));
    const at::Tensor wanted = at::linspace(0, 9, 8 * 8 * 9).square().sin().view({8, 8, 3, 3});
    int num_filled = 0;
    const auto fill = [&](const at::Tensor& factor) {
      tensor::allocate_memory(factor);
      values.fill(*values.find(factor), factor,
                  [&](const FactoredWeight& weight, const at::Tensor& whole) {
                    EXPECT_EQ(weight.whole.name, "layer1.0.conv1.weight");
                    ++num_filled;
                    whole.copy_(wanted);
                  });
    };
    const at::Tensor first = conv.to_latent()->weight;
    fill(first_comes_first ? first : conv.weight);
    fill(first_comes_first ? conv.weight : first);
    EXPECT_EQ(num_filled, 1);
    const nn::Factors nearest = nn::nearest_factors(wanted, 2);
    EXPECT_TRUE(first.equal(nearest.first.to(at::kFloat)));
    EXPECT_TRUE(conv.weight.equal(nearest.second.to(at::kFloat)));
  }
}

TEST(FactorValues, OfWhatIsNotFiniteAreNone) {
  models::ResNet network(one_block());
  const TensorOrigins origins(network);
  nn::Conv2d& conv = conv_to_factorize(network);
  conv.factorize(2);
  FactorValues values(factored_weights(network, origins));
  for (const at::Tensor& factor : {conv.weight, conv.to_latent()->weight}) {
    tensor::allocate_memory(factor);
    values.fill(*values.find(factor), factor, [](const FactoredWeight&, const at::Tensor& whole) {
      whole.fill_(1).view({-1})[5].fill_(INFINITY);
    });
    EXPECT_TRUE(factor.isnan().all().item<bool>());
  }
}

}  // namespace
}  // namespace paceline::app
