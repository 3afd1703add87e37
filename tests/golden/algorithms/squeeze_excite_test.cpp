#include "paceline/algorithms/squeeze_excite/squeeze_excite.h"

#include "golden/algorithms/golden_values.h"
#include "paceline/models/resnet/resnet.h"
#include "paceline/nn/conv.h"
#include "paceline/nn/module_tree.h"
#include "support/small_net.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// What Composer's SqueezeExcite adds and computes: make_squeeze_excite.py.

namespace paceline::algorithms {
namespace {

using nlohmann::json;
using paceline::test::wave;

constexpr double kExciteTolerance = 1e-10;

std::int64_t num_parameters(const torch::nn::Module& module) {
  std::int64_t number = 0;
  for (const nn::NamedTensor& named : nn::named_parameters(module)) number += named.tensor.numel();
  return number;
}

TEST(GoldenSqueezeExcite, FollowsComposersLayersOfResNets) {
  for (const json& each : golden_list("squeeze_excite.json", "surgeries")) {
    SCOPED_TRACE(each["model"].dump() + each["options"].dump());
    models::ResNet network(each["model"] == "resnet50"
                               ? models::ResNetConfig{.layers = {3, 4, 6, 3},
                                                      .block = models::ResNetBlock::kBottleneck}
                               : models::ResNetConfig{});
    const std::int64_t before = num_parameters(network);
    const auto changed = excite_layers(network,
                                       {.latent_channels = each["options"]["latent_channels"],
                                        .min_channels = each["options"]["min_channels"]},
                                       1);
    EXPECT_THAT(changed.at("convolutions"), ::testing::UnorderedElementsAreArray(
                                                each["convs"].get<std::vector<std::string>>()));
    EXPECT_EQ(num_parameters(network) - before, each["parameters"].get<std::int64_t>());
    EXPECT_EQ(network.flops_per_image(224, 225), each["flops"].get<double>());
  }
}

void expect_excited(const at::Tensor& got, const json& wanted, const char* what) {
  expect_golden_values("squeeze_excite", what, got, wanted, kExciteTolerance);
}

std::shared_ptr<nn::Conv2d> conv_of(const json& options) {
  return std::make_shared<nn::Conv2d>(
      options["in_channels"], options["out_channels"], options["kernel_size"],
      nn::Conv2d::Options{.stride = options.value("stride", std::int64_t{1}),
                          .padding = options["padding"],
                          .groups = options.value("groups", std::int64_t{1}),
                          .bias = options["bias"]});
}

TEST(GoldenSqueezeExcite, ConvolutionsAreComposers) {
  for (const json& each : golden_list("squeeze_excite.json", "convs")) {
    SCOPED_TRACE(each["options"].dump());
    torch::nn::Module owner;
    const auto conv = owner.register_module("conv", conv_of(each["options"]));
    nn::set_dtype(owner, at::kDouble);
    excite_layers(owner, {.latent_channels = each["latent_channels"], .min_channels = 1}, 1);
    auto parameters = owner.named_parameters();
    {
      const at::NoGradGuard no_grad;
      conv->weight.copy_(wave(conv->weight.sizes(), 2));
      if (conv->bias.defined()) conv->bias.copy_(wave(conv->bias.sizes(), 3));
      for (const auto& [name, phase] :
           {std::pair("conv.se.fc1.weight", 4), std::pair("conv.se.fc2.weight", 6)})
        parameters[name].copy_(wave(parameters[name].sizes(), phase));
    }
    std::vector<std::int64_t> sizes{2, conv->in_channels()};
    for (const json& size : each["size"]) sizes.push_back(size);
    const at::Tensor x = wave(sizes, 1).requires_grad_();
    const at::Tensor output = conv->forward(x);
    (output * wave(output.sizes(), 5)).sum().backward();
    expect_excited(output, each["output"], "output");
    expect_excited(x.grad(), each["grad_input"], "gradient of the input");
    expect_excited(conv->weight.grad(), each["grad_weight"], "gradient of the weight");
    expect_excited(parameters["conv.se.fc1.weight"].grad(), each["grad_fc1"],
                   "gradient of the first layer");
    expect_excited(parameters["conv.se.fc2.weight"].grad(), each["grad_fc2"],
                   "gradient of the second layer");
  }
}

}  // namespace
}  // namespace paceline::algorithms
