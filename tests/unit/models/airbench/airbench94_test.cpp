#include "paceline/models/airbench/airbench94.h"

#include "paceline/base/error.h"
#include "paceline/config/problems.h"
#include "paceline/nn/module_tree.h"

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

TEST(Airbench94, HasTheParametersThatItsDocumentationStates) {
  std::int64_t all = 0;
  std::int64_t trained = 0;
  for (const nn::NamedTensor& item : nn::named_parameters(Airbench94({}))) {
    all += item.tensor.numel();
    if (item.tensor.requires_grad()) trained += item.tensor.numel();
  }
  EXPECT_EQ(all, 1'972'792);
  EXPECT_EQ(trained, 1'971'352) << "all but the whitening's weights and the norms' scales";
}

TEST(Airbench94, FirstRowsOfItsConvolutionsAreTheIdentity) {
  Airbench94 network({.widths = {8, 40, 40}});
  network.initialize(1);
  std::map<std::string, at::Tensor> parameters;
  for (const nn::NamedTensor& item : nn::named_parameters(network))
    parameters[item.name] = item.tensor.detach();
  for (const auto& [name, inputs] : std::map<std::string, std::int64_t>{
           {"2.conv1.weight", 8}, {"3.conv1.weight", 8}, {"3.conv2.weight", 40}}) {
    const at::Tensor weight = parameters.at(name);
    at::Tensor identity = at::zeros({inputs, weight.size(1), 3, 3});
    for (std::int64_t i = 0; i < inputs; ++i) identity[i][i][1][1] = 1;
    EXPECT_TRUE(at::equal(weight.slice(0, 0, inputs), identity)) << name;
    if (weight.size(0) > inputs) {
      EXPECT_GT(weight.slice(0, inputs).abs().min().item<double>(), 0) << name;
    }
  }
}

TEST(Airbench94, WhitenedPatchesAreIndependentAndEquallyStrong) {
  const at::Tensor images = at::linspace(0, 40, 20 * 3 * 12 * 12).sin().view({20, 3, 12, 12}) +
                            at::linspace(0, 9000, 20 * 3 * 12 * 12).sin().view({20, 3, 12, 12});
  const at::Tensor filters = whitening_filters(images, 2, 0);
  const at::Tensor seen =
      at::conv2d(images.to(at::kDouble), filters.slice(0, 0, 12).to(at::kDouble));
  const at::Tensor rows = seen.permute({1, 0, 2, 3}).reshape({12, -1});
  const at::Tensor moments = rows.matmul(rows.t()) / rows.size(1);
  EXPECT_LT((moments - at::eye(12, at::kDouble)).abs().max().item<double>(), 1e-3);
}

TEST(Airbench94, TakesImagesOfAnySizeFromNinePixelsOn) {
  Airbench94 network({.num_classes = 4, .in_channels = 2, .widths = {2, 3, 4}});
  network.initialize(1);
  for (const std::int64_t size : {9, 25, 32, 40}) {
    EXPECT_EQ(network.forward_images(at::ones({3, 2, size, size}), {}).sizes(),
              (std::vector<std::int64_t>{3, 4}));
  }
  EXPECT_THROW(network.forward_images(at::ones({3, 2, 9, 8}), {}), base::ConfigError);
  EXPECT_THROW(network.flops_per_image(8, 9), base::ConfigError);
}

TEST(Airbench94, RefusesOtherNumbersOfGroups) {
  EXPECT_THROW(Airbench94({.widths = {8, 8}}), base::ConfigError);
  config::Problems problems;
  config::Schema<Airbench94Config>::validate({.widths = {8, 8, 8, 8}}, problems);
  EXPECT_EQ(problems.size(), 1u);
}

}  // namespace
}  // namespace paceline::models
