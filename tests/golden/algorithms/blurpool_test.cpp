#include "paceline/algorithms/blurpool/blurpool.h"

#include "golden/algorithms/golden_values.h"
#include "paceline/models/resnet/resnet.h"
#include "paceline/nn/conv.h"
#include "paceline/nn/linear.h"
#include "paceline/nn/max_pool.h"
#include "paceline/nn/module_tree.h"
#include "support/small_net.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// What Composer's BlurPool changes and computes: make_blurpool.py.

namespace paceline::algorithms {
namespace {

using nlohmann::json;
using paceline::test::wave;

constexpr double kBlurTolerance = 1e-9;

void expect_values(const at::Tensor& got, const json& wanted, const char* what) {
  expect_golden_values("blurpool", what, got, wanted, kBlurTolerance);
}

void backward(const at::Tensor& output) { (output * wave(output.sizes(), 5)).sum().backward(); }

BlurPoolConfig blur_config(const json& options) {
  BlurPoolConfig config;
  config.replace_convs = options.value("replace_convs", true);
  config.replace_maxpools = options.value("replace_maxpools", true);
  config.blur_first = options.value("blur_first", true);
  config.min_channels = options.value("min_channels", std::int64_t{16});
  return config;
}

std::vector<std::int64_t> with_size(std::vector<std::int64_t> sizes, const json& more) {
  for (const json& size : more) sizes.push_back(size);
  return sizes;
}

TEST(GoldenBlurPool, ChangesComposersLayersOfResNets) {
  for (const json& each : golden_list("blurpool.json", "surgeries")) {
    SCOPED_TRACE(each["model"].dump() + each["options"].dump());
    const bool is_deep = each["model"] == "resnet50";
    models::ResNet network(is_deep ? models::ResNetConfig{.layers = {3, 4, 6, 3},
                                                          .block = models::ResNetBlock::kBottleneck}
                                   : models::ResNetConfig{});
    blur_layers(network, blur_config(each["options"]));
    std::vector<std::string> convs;
    std::vector<std::string> pools;
    for (const auto& item : network.named_modules(/*name_prefix=*/{}, /*include_self=*/false)) {
      if (const auto* conv = dynamic_cast<const nn::Conv2d*>(item.value().get());
          conv != nullptr && !conv->is_plain())
        convs.push_back(item.key());
      if (const auto* pool = dynamic_cast<const nn::MaxPool2d*>(item.value().get());
          pool != nullptr && pool->has_method())
        pools.push_back(item.key());
    }
    EXPECT_THAT(
        convs, ::testing::UnorderedElementsAreArray(each["convs"].get<std::vector<std::string>>()));
    EXPECT_EQ(pools, each["max_pools"].get<std::vector<std::string>>());
    EXPECT_EQ(network.flops_per_image(224, 225), each["flops"].get<double>());
  }
}

TEST(GoldenBlurPool, BlursAsComposer) {
  for (const json& each : golden_list("blurpool.json", "blurs")) {
    if (!each["stride"].is_number()) continue;  // ours are equal in both directions
    SCOPED_TRACE(each["size"].dump() + each["stride"].dump());
    const at::Tensor x = wave(with_size({2, each["channels"]}, each["size"]), 1).requires_grad_();
    const at::Tensor output = blur(x, blur_kernel(x.options()), each["stride"]);
    backward(output);
    expect_values(output, each["output"], "output");
    expect_values(x.grad(), each["grad_input"], "gradient");
  }
}

TEST(GoldenBlurPool, PoolsAreComposers) {
  for (const json& each : golden_list("blurpool.json", "pools")) {
    const json& options = each["options"];
    SCOPED_TRACE(options.dump());
    torch::nn::Module owner;
    owner.register_parameter("double", at::zeros({1}, at::kDouble));
    const auto pool = owner.register_module(
        "pool",
        std::make_shared<nn::MaxPool2d>(nn::MaxPool2d::Options{
            options["kernel_size"], options["stride"], options.value("padding", std::int64_t{0})}));
    EXPECT_EQ(blur_layers(owner, {}), (train::LayerNames{{"max-pools", {"pool"}}}));
    const auto sizes = with_size({1, 2}, each["size"]);
    const std::int64_t count = 2 * sizes[2] * sizes[3];
    const at::Tensor i = at::arange(count, at::kDouble);
    const at::Tensor x = ((i * 0.7) * i + 1).sin().reshape(sizes).requires_grad_();
    const at::Tensor output = pool->forward(x);
    backward(output);
    expect_values(output, each["output"], "output");
    expect_values(x.grad(), each["grad_input"], "gradient");
  }
}

TEST(GoldenBlurPool, ConvolutionsAreComposers) {
  int num_compared = 0;
  for (const json& each : golden_list("blurpool.json", "convs")) {
    const json& options = each["options"];
    if (options.contains("dilation")) continue;  // ours have none
    SCOPED_TRACE(each.at("options").dump() + each["blur_first"].dump());
    torch::nn::Module owner;
    const auto conv = owner.register_module(
        "conv", std::make_shared<nn::Conv2d>(
                    options["in_channels"], options["out_channels"], options["kernel_size"],
                    nn::Conv2d::Options{.stride = options["stride"],
                                        .padding = options["padding"],
                                        .groups = options.value("groups", std::int64_t{1}),
                                        .bias = options["bias"]}));
    nn::set_dtype(owner, at::kDouble);
    {
      const at::NoGradGuard no_grad;
      conv->weight.copy_(wave(conv->weight.sizes(), 2));
      if (conv->bias.defined()) conv->bias.copy_(wave(conv->bias.sizes(), 3));
    }
    BlurPoolConfig config{.blur_first = each["blur_first"], .min_channels = 1};
    EXPECT_EQ(blur_layers(owner, config), (train::LayerNames{{"convolutions", {"conv"}}}));
    const at::Tensor x =
        wave(with_size({1, options["in_channels"]}, each["size"]), 1).requires_grad_();
    const at::Tensor output = conv->forward(x);
    backward(output);
    expect_values(output, each["output"], "output");
    expect_values(x.grad(), each["grad_input"], "gradient of the input");
    expect_values(conv->weight.grad(), each["grad_weight"], "gradient of the weight");
    if (conv->bias.defined()) expect_values(conv->bias.grad(), each["grad_bias"], "of the bias");
    ++num_compared;
  }
  EXPECT_EQ(num_compared, 10);
}

/// What make_blurpool.py calls BlurNet.
class BlurNet final : public torch::nn::Module {
 public:
  BlurNet() {
    const auto conv = [this](const char* name, int in, int out, int kernel, int stride) {
      return register_module(
          name, std::make_shared<nn::Conv2d>(
                    in, out, kernel, nn::Conv2d::Options{.stride = stride, .padding = kernel / 2}));
    };
    stem = conv("stem", 3, 4, 3, 2);
    pool_ =
        register_module("pool", std::make_shared<nn::MaxPool2d>(nn::MaxPool2d::Options{3, 2, 1}));
    conv1_ = conv("conv1", 4, 6, 3, 2);
    conv2_ = conv("conv2", 6, 6, 3, 1);
    down = conv("down", 4, 6, 1, 2);
    fc_ = register_module("fc", std::make_shared<nn::Linear>(6, 5));
    nn::set_dtype(*this, at::kDouble);
    const at::NoGradGuard no_grad;
    double number = 0;
    for (const nn::NamedTensor& parameter : nn::named_parameters(*this))
      parameter.tensor.copy_(wave(parameter.tensor.sizes(), 10 * number++));
  }
  at::Tensor forward(const at::Tensor& images) const {
    const at::Tensor x = pool_->forward(at::relu(stem->forward(images)));
    const at::Tensor branch = conv2_->forward(at::relu(conv1_->forward(x)));
    return fc_->forward(at::relu(branch + down->forward(x)).mean({2, 3}));
  }

  std::shared_ptr<nn::Conv2d> stem, down;

 private:
  std::shared_ptr<nn::Conv2d> conv1_, conv2_;
  std::shared_ptr<nn::MaxPool2d> pool_;
  std::shared_ptr<nn::Linear> fc_;
};

TEST(GoldenBlurPool, ANetworksLogitsAndGradientsAreComposers) {
  for (const json& each : golden_list("blurpool.json", "nets")) {
    SCOPED_TRACE(each["options"].dump() + each["size"].dump());
    BlurNet net;
    BlurPoolConfig config = blur_config(each["options"]);
    config.min_channels = 4;
    if (!each["plain"].get<bool>()) blur_layers(net, config);
    const at::Tensor logits = net.forward(wave(with_size({2, 3}, each["size"]), 1));
    backward(logits);
    expect_values(logits, each["logits"], "logits");
    expect_values(net.stem->weight.grad(), each["grad_stem"], "gradient of the stem");
    expect_values(net.down->weight.grad(), each["grad_down"], "gradient of the projection");
  }
}

}  // namespace
}  // namespace paceline::algorithms
