#include "paceline/models/resnet/resnet9.h"

#include "paceline/base/error.h"
#include "paceline/nn/module_tree.h"

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

TEST(ResNet9, HasTheParametersThatItsDocumentationStates) {
  std::int64_t parameters = 0;
  for (const nn::NamedTensor& item : nn::named_parameters(ResNet9({})))
    parameters += item.tensor.numel();
  EXPECT_EQ(parameters, 6'573'120);
}

TEST(ResNet9, ScalesItsOutputs) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> outputs;
  for (const double scale : {1.0, 0.125}) {
    ResNet9 network({.num_classes = 4, .width = 2, .logit_scale = scale});
    network.initialize(1);
    nn::set_training(network, false);
    outputs.push_back(
        network.forward_images(at::linspace(-1, 1, 3 * 16 * 16).view({1, 3, 16, 16}), {}));
  }
  EXPECT_GT(outputs[0].abs().max().item<double>(), 0.0);
  EXPECT_TRUE(at::equal(outputs[0] * 0.125, outputs[1]));
}

TEST(ResNet9, TakesImagesOfAnySizeFromEightPixelsOn) {
  ResNet9 network({.num_classes = 4, .in_channels = 2, .width = 2});
  network.initialize(1);
  for (const std::int64_t size : {8, 19, 32}) {
    EXPECT_EQ(network.forward_images(at::ones({3, 2, size, size}), {}).sizes(),
              (std::vector<std::int64_t>{3, 4}));
  }
  EXPECT_THROW(network.forward_images(at::ones({3, 2, 8, 7}), {}), base::ConfigError);
  EXPECT_THROW(network.flops_per_image(7, 8), base::ConfigError);
}

}  // namespace
}  // namespace paceline::models
