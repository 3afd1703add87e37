#include "paceline/algorithms/squeeze_excite/squeeze_excite.h"

#include "paceline/algorithms/blurpool/blurpool.h"
#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/config/problems.h"
#include "paceline/models/resnet/resnet.h"
#include "paceline/nn/conv.h"
#include "paceline/nn/module_tree.h"
#include "paceline/train/run_context.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/train_state.h"

#include <atomic>
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two layers of one block each, of 16 and 32 channels.
std::shared_ptr<models::ResNet> network_of_two_blocks() {
  return std::make_shared<models::ResNet>(
      models::ResNetConfig{.num_classes = 5, .layers = {1, 1}, .width = 16});
}

std::map<std::string, at::Tensor> parameter_values(const torch::nn::Module& network) {
  std::map<std::string, at::Tensor> values;
  for (const nn::NamedTensor& item : nn::named_parameters(network))
    values[item.name] = item.tensor.detach().clone();
  return values;
}

TEST(SqueezeExcite, AddsLayersBelowWideConvolutions) {
  const auto plain = network_of_two_blocks();
  plain->initialize(7);
  const auto network = network_of_two_blocks();
  network->initialize(7);
  const auto changed = excite_layers(*network, {.latent_channels = 0.25, .min_channels = 32}, 7);
  EXPECT_THAT(changed.at("convolutions"), ElementsAre("layer2.0.conv2"));
  auto values = parameter_values(*network);
  EXPECT_THAT(values.at("layer2.0.conv2.se.fc1.weight").sizes().vec(), ElementsAre(8, 32, 1, 1));
  EXPECT_THAT(values.at("layer2.0.conv2.se.fc2.weight").sizes().vec(), ElementsAre(32, 8, 1, 1));
  for (const auto& [name, value] : parameter_values(*plain))
    EXPECT_TRUE(values.at(name).equal(value)) << name << " starts as without";
  EXPECT_EQ(values.size(), parameter_values(*plain).size() + 2) << "there are no biases";
}

TEST(SqueezeExcite, DrawsBySeedAlone) {
  const auto first_values = [](std::uint64_t seed, at::ScalarType dtype) {
    const auto network = network_of_two_blocks();
    nn::set_dtype(*network, dtype);
    excite_layers(*network, {.latent_channels = 4, .min_channels = 16}, seed);
    auto values = parameter_values(*network);
    std::erase_if(values,
                  [](const auto& item) { return item.first.find(".se.") == item.first.npos; });
    return values;
  };
  const auto values = first_values(1, at::kFloat);
  EXPECT_EQ(values.size(), 10u) << "of five convolutions";
  const auto same = first_values(1, at::kFloat);
  const auto other = first_values(2, at::kFloat);
  std::vector<at::Tensor> all;
  for (const auto& [name, value] : values) {
    EXPECT_TRUE(value.equal(same.at(name))) << name;
    EXPECT_FALSE(value.equal(other.at(name))) << name;
    for (const at::Tensor& earlier : all)
      EXPECT_FALSE(earlier.numel() == value.numel() && earlier.flatten().equal(value.flatten()))
          << name;
    all.push_back(value);
    const double bound = 1 / std::sqrt(static_cast<double>(value.size(1)));
    EXPECT_LE(value.abs().max().item<double>(), bound) << name;
    EXPECT_GT(value.abs().max().item<double>(), 0.8 * bound) << name;
  }
  EXPECT_EQ(first_values(1, at::kDouble).begin()->second.scalar_type(), at::kDouble);
}

TEST(SqueezeExcite, WeighsWhatABlurredConvolutionGives) {
  const at::NoGradGuard no_grad;
  torch::nn::Module owner;
  const auto conv = owner.register_module(
      "conv",
      std::make_shared<nn::Conv2d>(4, 4, 3, nn::Conv2d::Options{.stride = 2, .padding = 1}));
  conv->weight.copy_(at::linspace(-1, 1, conv->weight.numel()).view_as(conv->weight));
  const at::Tensor images = at::linspace(0, 1, 4 * 8 * 8).view({1, 4, 8, 8});
  blur_layers(owner, {.min_channels = 1});
  const at::Tensor blurred = conv->forward(images);
  excite_layers(owner, {.latent_channels = 2, .min_channels = 4}, 1);
  for (const nn::NamedTensor& item : nn::named_parameters(owner)) {
    if (item.name.ends_with("fc2.weight")) item.tensor.zero_();
  }
  EXPECT_TRUE(conv->forward(images).equal(blurred * 0.5)) << "half of what it was";
}

std::string refusal_of(const SqueezeExciteConfig& config) {
  const auto communicator = comm::make_fake_communicator(0, 1);
  const std::atomic<int> no_signal{0};
  const train::RunContext run{*communicator, {}, 1, {}, no_signal};
  const base::LogRedirection quiet([](base::LogLevel, std::string_view) {});
  train::TrainState state;
  state.task = std::make_unique<train::ClassificationTask>(network_of_two_blocks(), nullptr);
  SqueezeExcite algorithm(config);
  EXPECT_TRUE(algorithm.traits().changes_network);
  EXPECT_GT(algorithm.traits().order, BlurPool({}).traits().order);
  try {
    algorithm.apply(train::Event::kInit, state, run);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  EXPECT_FALSE(algorithm.changed_layers().empty());
  return "";
}

TEST(SqueezeExcite, RefusesWhatAddsNothing) {
  EXPECT_EQ(refusal_of({.min_channels = 32}), "");
  EXPECT_THAT(refusal_of({.min_channels = 33}), HasSubstr("no convolution of at least 33"));
  EXPECT_THAT(refusal_of({.latent_channels = 0.01, .min_channels = 32}),
              HasSubstr("none of the 32 channels of layer2.0.conv2"));
}

TEST(SqueezeExcite, CountsWholeChannels) {
  const auto problems_of = [](double latent_channels) {
    config::Problems problems;
    config::Schema<SqueezeExciteConfig>::validate({.latent_channels = latent_channels}, problems);
    return problems.message();
  };
  EXPECT_EQ(problems_of(2), "");
  EXPECT_EQ(problems_of(0.125), "");
  EXPECT_THAT(problems_of(1.5), HasSubstr("whole number"));
}

}  // namespace
}  // namespace paceline::algorithms
