#include "paceline/algorithms/factorize/factorize.h"

#include "paceline/algorithms/blurpool/blurpool.h"
#include "paceline/algorithms/squeeze_excite/squeeze_excite.h"
#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/config/problems.h"
#include "paceline/models/convnext/convnext.h"
#include "paceline/models/mobilenet/mobilenet_v3.h"
#include "paceline/models/resnet/resnet.h"
#include "paceline/models/vit/vit.h"
#include "paceline/nn/conv.h"
#include "paceline/nn/module_tree.h"
#include "paceline/tensor/storage.h"
#include "paceline/train/run_context.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/train_state.h"

#include <atomic>
#include <cmath>
#include <functional>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Of a ResNet with two layers of one block each, of 16 and 32 channels: convolutions of layer2
/// with at least as many, and fc.
constexpr FactorizeConfig kOfSmall{.min_channels = 16, .min_features = 5, .latent_features = 2};

std::shared_ptr<models::ResNet> resnet_to_factorize() {
  return std::make_shared<models::ResNet>(
      models::ResNetConfig{.num_classes = 5, .layers = {1, 1}, .width = 16});
}

std::map<std::string, at::Tensor> tensors_by_name(const torch::nn::Module& network) {
  std::map<std::string, at::Tensor> tensors;
  for (const nn::NamedTensor& item : nn::state_dict(network)) tensors[item.name] = item.tensor;
  return tensors;
}

/// As the algorithm sees it in a run: parameters are without memory yet.
std::map<std::string, at::Tensor> fresh_factors(std::uint64_t seed, at::ScalarType dtype) {
  const auto network = resnet_to_factorize();
  nn::set_dtype(*network, dtype);
  nn::defer_values(*network);
  factorize_layers(*network, kOfSmall, seed);
  auto tensors = tensors_by_name(*network);
  std::erase_if(tensors, [](const auto& item) { return !tensor::has_memory(item.second); });
  std::erase_if(tensors, [](const auto& item) {
    return item.first.find("bn") != item.first.npos ||
           item.first.find("downsample.1") != item.first.npos;
  });
  return tensors;
}

TEST(Factorize, PutsFactorsInThePlacesOfWideLayers) {
  const auto plain = resnet_to_factorize();
  plain->initialize(7);
  const auto network = resnet_to_factorize();
  network->initialize(7);
  const auto changed = factorize_layers(*network, kOfSmall, 7);
  EXPECT_THAT(changed.at("convolutions"),
              ElementsAre("layer1.0.conv1", "layer1.0.conv2", "layer2.0.conv1", "layer2.0.conv2",
                          "layer2.0.downsample.0"));
  EXPECT_THAT(changed.at("linear layers"), ElementsAre("fc"));
  auto tensors = tensors_by_name(*network);
  const auto sizes = [&](const char* name) { return tensors.at(name).sizes().vec(); };
  EXPECT_THAT(sizes("layer2.0.conv1.to_latent.weight"), ElementsAre(4, 16, 3, 3));
  EXPECT_THAT(sizes("layer2.0.conv1.weight"), ElementsAre(32, 4, 1, 1));
  EXPECT_THAT(sizes("layer2.0.conv1.bias"), ElementsAre(32));
  EXPECT_THAT(sizes("fc.to_latent.weight"), ElementsAre(2, 32));
  EXPECT_THAT(sizes("fc.weight"), ElementsAre(5, 2));
  const auto before = tensors_by_name(*plain);
  EXPECT_EQ(tensors.size(), before.size() + 5 * 2 + 1);
  for (const auto& [name, value] : before) {
    const bool is_factor = value.sizes() != tensors.at(name).sizes();
    EXPECT_TRUE(is_factor || tensors.at(name).equal(value)) << name << " starts as without";
  }
  EXPECT_TRUE(tensors.at("fc.bias").equal(before.at("fc.bias")));
}

TEST(Factorize, LeavesWhatWouldNotComputeLess) {
  const auto changed_by = [](const FactorizeConfig& config) {
    const auto network = resnet_to_factorize();
    std::vector<std::string> all;
    for (const auto& [kind, names] : factorize_layers(*network, config, 1))
      all.insert(all.end(), names.begin(), names.end());
    return all;
  };
  FactorizeConfig config = kOfSmall;
  config.latent_channels = 11;  // of 16 to 32 channels 10.7 are as much; 3x3 kernels save by it
  EXPECT_THAT(changed_by(config), ElementsAre("layer1.0.conv1", "layer1.0.conv2", "layer2.0.conv1",
                                              "layer2.0.conv2", "fc"));
  config.latent_channels = 10;
  EXPECT_THAT(changed_by(config), ::testing::Contains("layer2.0.downsample.0"));
  config.latent_features = 5;
  EXPECT_THAT(changed_by(config), ::testing::Not(::testing::Contains("fc")));
  config = {.factorize_linears = false, .min_channels = 32};
  EXPECT_THAT(changed_by(config), ElementsAre("layer2.0.conv2"));
  config = {.factorize_convs = false, .min_features = 5, .latent_features = 1};
  EXPECT_THAT(changed_by(config), ElementsAre("fc"));
}

TEST(Factorize, DrawsFreshFactorsBySeedAlone) {
  const auto values = fresh_factors(1, at::kFloat);
  EXPECT_EQ(values.size(), 5u * 3 + 2);
  const auto same = fresh_factors(1, at::kFloat);
  const auto other = fresh_factors(2, at::kFloat);
  std::vector<at::Tensor> all;
  for (const auto& [name, value] : values) {
    EXPECT_TRUE(value.equal(same.at(name))) << name;
    EXPECT_FALSE(value.equal(other.at(name))) << name;
    for (const at::Tensor& earlier : all) {
      const std::int64_t shared = std::min(earlier.numel(), value.numel());
      EXPECT_FALSE(earlier.flatten().slice(0, 0, shared).equal(value.flatten().slice(0, 0, shared)))
          << name;
    }
    all.push_back(value);
    const bool is_bias = value.dim() == 1;
    const at::Tensor weight =
        is_bias ? values.at(name.substr(0, name.size() - 4) + "weight") : value;
    const double bound = 1 / std::sqrt(static_cast<double>(weight[0].numel()));
    EXPECT_LE(value.abs().max().item<double>(), bound) << name;
    EXPECT_GT(value.abs().max().item<double>(), 0.6 * bound) << name;
  }
  EXPECT_EQ(fresh_factors(1, at::kDouble).begin()->second.scalar_type(), at::kDouble);
}

TEST(Factorize, SvdWaitsForValuesThatAreNotThereYet) {
  const auto network = resnet_to_factorize();
  nn::defer_values(*network);
  FactorizeConfig config = kOfSmall;
  config.init = FactorInit::kSvd;
  factorize_layers(*network, config, 1);
  const auto tensors = tensors_by_name(*network);
  EXPECT_FALSE(tensor::has_memory(tensors.at("fc.weight")));
  EXPECT_FALSE(tensor::has_memory(tensors.at("fc.to_latent.weight")));
  EXPECT_FALSE(tensor::has_memory(tensors.at("layer1.0.conv1.weight")));
  EXPECT_TRUE(tensors.at("layer1.0.conv1.bias").equal(at::zeros({16})));
}

/// Expects that a network of factors computes, in blocks of one node or operation by operation,
/// what one with their products as weights does, and less of it.
void expect_what_products_compute(
    const std::function<std::shared_ptr<nn::CountedImageNetwork>()>& make,
    const FactorizeConfig& config, std::size_t num_layers) {
  const auto plain = make();
  const auto network = make();
  for (const auto& each : {plain, network}) {
    nn::set_dtype(*each, at::kDouble);
    nn::set_training(*each, false);
  }
  network->initialize(3);
  std::size_t num_changed = 0;
  for (const auto& [kind, names] : factorize_layers(*network, config, 1))
    num_changed += names.size();
  EXPECT_EQ(num_changed, num_layers);
  const auto factors = tensors_by_name(*network);
  {
    const at::NoGradGuard no_grad;
    for (const nn::NamedTensor& named : nn::state_dict(*plain)) {
      const at::Tensor& theirs = factors.at(named.name);
      const auto first =
          factors.find(named.name.substr(0, named.name.rfind('.')) + ".to_latent.weight");
      const bool is_product = named.name.ends_with(".weight") && first != factors.end();
      named.tensor.copy_(
          is_product ? theirs.flatten(1).matmul(first->second.flatten(1)).view(named.tensor.sizes())
                     : theirs);
    }
  }
  const at::Tensor images =
      at::linspace(-2, 2, 2 * 3 * 32 * 32, at::kDouble).mul(50).sin().view({2, 3, 32, 32});
  const at::Tensor wanted = plain->forward_images(images, {});
  const at::Tensor got = network->forward_images(images, {});
  EXPECT_TRUE(at::allclose(got, wanted, 1e-9, 1e-11)) << (got - wanted).abs().max();
  EXPECT_LT(network->flops_per_image(32, 32), plain->flops_per_image(32, 32));
  // Gradients of what is before all factors.
  wanted.square().sum().backward();
  got.square().sum().backward();
  const at::Tensor theirs = nn::named_parameters(*plain).front().tensor.grad();
  const at::Tensor ours = nn::named_parameters(*network).front().tensor.grad();
  EXPECT_TRUE(at::allclose(ours, theirs, 1e-8, 1e-10 * theirs.abs().max().item<double>()));
}

constexpr FactorizeConfig kAllOfEight{
    .min_channels = 8, .min_features = 5, .latent_features = 2, .init = FactorInit::kSvd};

TEST(Factorize, FactorsComputeWhatTheirProductsDo) {
  expect_what_products_compute([] { return resnet_to_factorize(); }, kAllOfEight, 6);
  expect_what_products_compute(
      [] {
        return std::make_shared<models::Vit>(models::VitConfig{.num_classes = 5,
                                                               .img_size = 32,
                                                               .patch_size = 16,
                                                               .embed_dim = 16,
                                                               .depth = 2,
                                                               .num_heads = 2});
      },
      kAllOfEight, 2 * 4 + 1);
  for (const bool conv_mlp : {false, true}) {
    expect_what_products_compute(
        [conv_mlp] {
          return std::make_shared<models::ConvNext>(
              models::ConvNextConfig{.num_classes = 5,
                                     .depths = {1, 1, 1, 1},
                                     .dims = {8, 8, 16, 16},
                                     .ls_init_value = std::nullopt,
                                     .use_grn = conv_mlp,
                                     .conv_mlp = conv_mlp});
        },
        kAllOfEight, 3 + 4 * 2 + 1);
  }
}

TEST(Factorize, LinearLayersBeforeHeadsAreFactorizedToo) {
  const models::MobileNetV3Shape shape{
      {{3, 16, 16, true, nn::Activation::kRelu, 2}, {3, 64, 24, false, nn::Activation::kRelu, 2}},
      64};
  expect_what_products_compute(
      [&] {
        return std::make_shared<models::MobileNetV3>(shape,
                                                     models::MobileNetV3Config{.num_classes = 9});
      },
      {.factorize_convs = false, .min_features = 9, .latent_features = 3}, 2);
}

TEST(Factorize, BlocksOfOneNodeSayThatTheyAreNoneAnyMore) {
  models::Vit vit({.num_classes = 5,
                   .img_size = 32,
                   .patch_size = 16,
                   .embed_dim = 16,
                   .depth = 1,
                   .num_heads = 2,
                   .fused = models::FusedMode::kOn});
  vit.initialize(1);
  const at::Tensor images = at::ones({1, 3, 32, 32});
  EXPECT_NO_THROW(vit.forward_images(images, {}));
  factorize_layers(vit, kAllOfEight, 1);
  EXPECT_THAT([&] { vit.forward_images(images, {}); },
              ::testing::ThrowsMessage<base::ConfigError>(HasSubstr("no algorithm has changed")));
}

TEST(Factorize, OtherChangesFindTheLayersTheyMean) {
  const auto network = resnet_to_factorize();
  factorize_layers(*network, kOfSmall, 1);
  EXPECT_THAT(blur_layers(*network, {}).at("convolutions"),
              ElementsAre("layer2.0.conv1.to_latent", "layer2.0.downsample.0.to_latent"));
  const auto excited = excite_layers(*network, {.latent_channels = 2, .min_channels = 16}, 1);
  EXPECT_EQ(excited.at("convolutions").size(), 5u) << "as without factors";
  EXPECT_THAT(excited.at("convolutions"), ::testing::Each(::testing::Not(HasSubstr("to_latent"))));
}

std::string refusal_to_factorize(const FactorizeConfig& config) {
  const auto communicator = comm::make_fake_communicator(0, 1);
  const std::atomic<int> no_signal{0};
  const train::RunContext run{*communicator, {}, 1, {}, no_signal};
  const base::LogRedirection quiet([](base::LogLevel, std::string_view) {});
  train::TrainState state;
  state.task = std::make_unique<train::ClassificationTask>(resnet_to_factorize(), nullptr);
  Factorize algorithm(config);
  EXPECT_TRUE(algorithm.traits().changes_network);
  EXPECT_LT(algorithm.traits().order, BlurPool({}).traits().order);
  EXPECT_LT(algorithm.traits().order, SqueezeExcite({}).traits().order);
  try {
    algorithm.apply(train::Event::kInit, state, run);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  EXPECT_FALSE(algorithm.changed_layers().empty());
  return "";
}

TEST(Factorize, RefusesANetworkWithoutSuchLayers) {
  EXPECT_EQ(refusal_to_factorize(kOfSmall), "");
  EXPECT_THAT(refusal_to_factorize({}), HasSubstr("min_channels 256"));
  EXPECT_THAT(refusal_to_factorize({.min_channels = 16, .latent_channels = 30}),
              HasSubstr("latent_channels 30"));
}

TEST(Factorize, CountsWholeNumbers) {
  const auto problems_of = [](const FactorizeConfig& config) {
    config::Problems problems;
    config::Schema<FactorizeConfig>::validate(config, problems);
    return problems.message();
  };
  EXPECT_EQ(problems_of({}), "");
  EXPECT_THAT(problems_of({.latent_channels = 1.5}), HasSubstr("latent_channels"));
  EXPECT_THAT(problems_of({.latent_features = 2.5}), HasSubstr("latent_features"));
  EXPECT_THAT(problems_of({.factorize_convs = false, .factorize_linears = false}),
              HasSubstr("nothing is left"));
}

}  // namespace
}  // namespace paceline::algorithms
