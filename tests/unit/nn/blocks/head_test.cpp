#include "paceline/nn/blocks/head.h"

#include "paceline/base/error.h"
#include "paceline/nn/image_network.h"
#include "paceline/nn/network_parts.h"
#include "paceline/tensor/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> parameters_of(const Head& head) {
  std::vector<std::string> names;
  for (const NamedTensor& named : named_parameters(head)) names.push_back(named.name);
  return names;
}

/// Draws what the head of a network, in which it is "fc", starts from.
void draw_mlp(const Head& head) {
  std::uint64_t index = 0;
  for (const NamedTensor& named : named_parameters(head))
    EXPECT_TRUE(head.initialize_mlp("fc", {"fc." + named.name, named.tensor}, {.index = index++}));
}

TEST(Head, OfALinearLayerHasItsNamesAndNumbers) {
  const Head head(2, 3, HeadKind::kLinear);
  EXPECT_THAT(parameters_of(head), ElementsAre("weight", "bias"));
  const at::NoGradGuard no_grad;
  head.weight().copy_(at::arange(6).view({3, 2}));
  named_parameters(head)[1].tensor.fill_(1);
  EXPECT_TRUE(at::equal(head.forward(at::ones({1, 2})), at::tensor({2.f, 6.f, 10.f}).view({1, 3})));
  LayerCosts costs;
  head.count(costs);
  EXPECT_EQ(costs.flops(), 12);
  EXPECT_FALSE(head.initialize_mlp("fc", {"fc.weight", head.weight()}, {}));
}

TEST(Head, OfTwoFactorsMultipliesByBoth) {
  Head head(3, 4, HeadKind::kLinear);
  head.factorize(2);
  EXPECT_THAT(parameters_of(head), ElementsAre("weight", "bias", "to_latent.weight"));
  const at::NoGradGuard no_grad;
  for (const NamedTensor& named : named_parameters(head)) {
    tensor::allocate_memory(named.tensor);
    named.tensor.fill_(named.name == "bias" ? 1 : 2);
  }
  EXPECT_TRUE(at::equal(head.forward(at::ones({1, 3})), at::full({1, 4}, 25.0)));
  EXPECT_EQ(head.weight().size(0), 4);
  LayerCosts costs;
  head.count(costs);
  EXPECT_EQ(costs.flops(), 2.0 * (3 * 2 + 2 * 4));
  EXPECT_THROW(head.factorize(1), base::InternalError);
  EXPECT_THROW(Head(3, 4, HeadKind::kMlp).factorize(1), base::InternalError);
}

TEST(Head, OfAnMlpIsTwoLayersWithGelu) {
  const Head head(4, 3, HeadKind::kMlp);
  EXPECT_THAT(parameters_of(head), ElementsAre("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"));
  draw_mlp(head);
  const auto parameters = named_parameters(head);
  EXPECT_LE(parameters[0].tensor.abs().max().item<double>(), 0.5);  // 1 / sqrt(fan-in)
  EXPECT_GT(parameters[3].tensor.abs().min().item<double>(), 0.0);
  const at::NoGradGuard no_grad;
  const at::Tensor x = at::linspace(-1, 1, 8).view({2, 4});
  const at::Tensor hidden = at::gelu(at::linear(x, parameters[0].tensor, parameters[1].tensor));
  EXPECT_TRUE(at::allclose(head.forward(x),
                           at::linear(hidden, parameters[2].tensor, parameters[3].tensor)));
  EXPECT_FALSE(head.initialize_mlp("fc", {"blocks.0.mlp.fc1.weight", parameters[0].tensor}, {}));
  LayerCosts costs;
  head.count(costs);
  EXPECT_EQ(costs.flops(), 2.0 * (16 + 12));
}

TEST(Head, OfNothingGivesTheFeatures) {
  const Head head(4, 3, HeadKind::kNone);
  EXPECT_THAT(parameters_of(head), IsEmpty());
  const at::Tensor x = at::ones({2, 4});
  EXPECT_TRUE(head.forward(x).is_same(x));
}

}  // namespace
}  // namespace paceline::nn
