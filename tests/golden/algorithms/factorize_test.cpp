#include "paceline/algorithms/factorize/factorize.h"

#include "golden/algorithms/golden_values.h"
#include "paceline/algorithms/blurpool/blurpool.h"
#include "paceline/algorithms/squeeze_excite/squeeze_excite.h"
#include "paceline/models/resnet/resnet.h"
#include "paceline/nn/conv.h"
#include "paceline/nn/factors/factors.h"
#include "paceline/nn/linear.h"
#include "paceline/nn/module_tree.h"
#include "support/small_net.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// What Composer's Factorize replaces and computes: make_factorize.py.

namespace paceline::algorithms {
namespace {

using nlohmann::json;
using paceline::test::wave;

constexpr double kFactorTolerance = 1e-10;

FactorizeConfig factorize_options(const json& options) {
  const FactorizeConfig usual;
  return {.factorize_convs = options.value("factorize_convs", usual.factorize_convs),
          .factorize_linears = options.value("factorize_linears", usual.factorize_linears),
          .min_channels = options.value("min_channels", usual.min_channels),
          .latent_channels = options.value("latent_channels", usual.latent_channels),
          .min_features = options.value("min_features", usual.min_features),
          .latent_features = options.value("latent_features", usual.latent_features)};
}

std::unique_ptr<models::ResNet> resnet_of(const json& name) {
  return std::make_unique<models::ResNet>(
      name == "resnet50"
          ? models::ResNetConfig{.layers = {3, 4, 6, 3}, .block = models::ResNetBlock::kBottleneck}
          : models::ResNetConfig{});
}

std::int64_t parameters_in_all(const torch::nn::Module& module) {
  std::int64_t number = 0;
  for (const nn::NamedTensor& named : nn::named_parameters(module)) number += named.tensor.numel();
  return number;
}

std::vector<std::string> names_of_kind(const train::LayerNames& layers, const char* kind) {
  const auto found = layers.find(kind);
  return found == layers.end() ? std::vector<std::string>() : found->second;
}

TEST(GoldenFactorize, FollowsComposersLayersOfResNets) {
  for (const json& each : golden_list("factorize.json", "surgeries")) {
    SCOPED_TRACE(each["model"].dump() + each["options"].dump());
    const auto network = resnet_of(each["model"]);
    const auto changed = factorize_layers(*network, factorize_options(each["options"]), 1);
    EXPECT_THAT(
        names_of_kind(changed, "convolutions"),
        ::testing::UnorderedElementsAreArray(each["convs"].get<std::vector<std::string>>()));
    EXPECT_THAT(names_of_kind(changed, "linear layers"),
                ::testing::ElementsAreArray(each["linears"].get<std::vector<std::string>>()));
    EXPECT_EQ(parameters_in_all(*network), each["parameters"].get<std::int64_t>());
    EXPECT_EQ(network->flops_per_image(224, 225), each["flops"].get<double>());
  }
}

TEST(GoldenFactorize, GoesWithWhatElseChangesConvolutions) {
  for (const json& each : golden_list("factorize.json", "with_others")) {
    const auto network = resnet_of(each["model"]);
    const auto changed = factorize_layers(*network, factorize_options(each["options"]), 1);
    blur_layers(*network, {});
    excite_layers(*network, {}, 1);
    EXPECT_EQ(names_of_kind(changed, "convolutions").size(), each["convs"].get<std::size_t>());
    EXPECT_EQ(parameters_in_all(*network), each["parameters"].get<std::int64_t>());
    EXPECT_EQ(network->flops_per_image(224, 225), each["flops"].get<double>());
  }
}

TEST(GoldenFactorize, SizesAreComposers) {
  for (const json& rule : golden_list("factorize.json", "rules")) {
    SCOPED_TRACE(rule.dump());
    const std::int64_t inputs = rule[0];
    const std::int64_t outputs = rule[1];
    const std::int64_t area =
        std::max<std::int64_t>(1, rule[2].get<std::int64_t>() * rule[2].get<std::int64_t>());
    const std::int64_t latent = latent_size(rule[3], inputs, outputs);
    EXPECT_EQ(latent, rule[4].get<std::int64_t>());
    EXPECT_EQ(latent <= most_latent(inputs * area, outputs), rule[5].get<bool>());
  }
}

/// The owner's parameters as waves, by name and phase; returns them.
std::map<std::string, at::Tensor> set_to_waves(const torch::nn::Module& owner,
                                               const std::map<std::string, double>& phases) {
  const at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> parameters;
  for (const nn::NamedTensor& named : nn::named_parameters(owner)) {
    named.tensor.copy_(wave(named.tensor.sizes(), phases.at(named.name)));
    parameters[named.name] = named.tensor;
  }
  return parameters;
}

template <class Layer>
void expect_composers(const json& each, Layer& layer,
                      const std::map<std::string, at::Tensor>& named,
                      const std::map<std::string, std::string>& gradients,
                      std::vector<std::int64_t> sizes) {
  const at::Tensor x = wave(sizes, 1).requires_grad_();
  const at::Tensor output = layer.forward(x);
  (output * wave(output.sizes(), 5)).sum().backward();
  const auto expect = [](const at::Tensor& got, const json& wanted, const char* what) {
    expect_golden_values("factorize", what, got, wanted, kFactorTolerance);
  };
  expect(output, each["output"], "output");
  expect(x.grad(), each["grad_input"], "gradient of the input");
  for (const auto& [name, theirs] : gradients) {
    ASSERT_TRUE(named.at(name).grad().defined()) << name;
    expect(named.at(name).grad(), each.at(theirs), "gradients of the parameters");
  }
}

TEST(GoldenFactorize, ConvolutionsAreComposers) {
  for (const json& each : golden_list("factorize.json", "convs")) {
    SCOPED_TRACE(each["options"].dump() + each["latent"].dump());
    const json& options = each["options"];
    torch::nn::Module owner;
    const auto conv = owner.register_module(
        "conv", std::make_shared<nn::Conv2d>(
                    options["in_channels"], options["out_channels"], options["kernel_size"],
                    nn::Conv2d::Options{.stride = options.value("stride", std::int64_t{1}),
                                        .padding = options["padding"],
                                        .bias = options["bias"]}));
    nn::set_dtype(owner, at::kDouble);
    factorize_layers(owner, {.min_channels = 1, .latent_channels = each["latent"]}, 1);
    std::map<std::string, double> phases{
        {"conv.to_latent.weight", 2}, {"conv.weight", 3}, {"conv.bias", 4}};
    std::map<std::string, std::string> gradients{{"conv.to_latent.weight", "grad_first"},
                                                 {"conv.weight", "grad_second"},
                                                 {"conv.bias", "grad_bias"}};
    if (each["with_others"]) {
      EXPECT_EQ(blur_layers(owner, {.min_channels = 1}).at("convolutions").size(), 1u);
      EXPECT_EQ(excite_layers(owner, {.latent_channels = 2, .min_channels = 1}, 1)
                    .at("convolutions")
                    .size(),
                1u);
      phases.insert({{"conv.se.fc1.weight", 6}, {"conv.se.fc2.weight", 7}});
      gradients.insert({{"conv.se.fc1.weight", "grad_fc1"}, {"conv.se.fc2.weight", "grad_fc2"}});
    }
    std::vector<std::int64_t> sizes{2, conv->in_channels()};
    for (const json& size : each["size"]) sizes.push_back(size);
    expect_composers(each, *conv, set_to_waves(owner, phases), gradients, sizes);
  }
}

TEST(GoldenFactorize, LinearLayersAreComposers) {
  for (const json& each : golden_list("factorize.json", "linears")) {
    SCOPED_TRACE(each["options"].dump());
    const std::int64_t inputs = each["options"]["in_features"];
    const bool has_bias = each["options"]["bias"];
    torch::nn::Module owner;
    const auto linear = owner.register_module(
        "fc", std::make_shared<nn::Linear>(inputs, each["options"]["out_features"], has_bias));
    nn::set_dtype(owner, at::kDouble);
    factorize_layers(owner, {.min_features = 1, .latent_features = each["latent"]}, 1);
    std::map<std::string, std::string> gradients{{"fc.to_latent.weight", "grad_first"},
                                                 {"fc.weight", "grad_second"}};
    if (has_bias) gradients.emplace("fc.bias", "grad_bias");
    const std::map<std::string, double> phases{
        {"fc.to_latent.weight", 2}, {"fc.weight", 3}, {"fc.bias", 4}};
    expect_composers(each, *linear, set_to_waves(owner, phases), gradients, {3, inputs});
  }
}

TEST(GoldenFactorize, TheNearestFactorsAreComposers) {
  for (const json& each : golden_list("factorize.json", "near")) {
    SCOPED_TRACE(each["weight"].dump());
    const auto sizes = each["weight"].get<std::vector<std::int64_t>>();
    const at::Tensor i = at::arange(c10::multiply_integers(sizes), at::kDouble);
    const at::Tensor weight = (i * 0.7 + i * i * 0.013 + 1.0).sin().mul(0.5).view(sizes);
    const nn::Factors factors = nn::nearest_factors(weight, each["rank"]);
    const at::Tensor first = factors.first.flatten(1);
    const at::Tensor second = factors.second.flatten(1);
    expect_golden_values("factorize", "product of the nearest factors", second.matmul(first),
                         each["product"], kFactorTolerance);
    for (const at::Tensor& values : {first.square().sum(1), second.square().sum(0)})
      expect_golden_values("factorize", "singular values", values, each["values"],
                           kFactorTolerance);
  }
}

}  // namespace
}  // namespace paceline::algorithms
