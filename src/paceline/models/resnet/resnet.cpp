#include "paceline/models/resnet/resnet.h"

#include "paceline/nn/init.h"
#include "paceline/nn/module_tree.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace paceline::models {
namespace {

constexpr std::size_t kMostResNetLayers = 8;

std::shared_ptr<nn::Conv2d> stem_conv(std::int64_t in_channels, std::int64_t out_channels,
                                      std::int64_t kernel_size, std::int64_t stride) {
  return std::make_shared<nn::Conv2d>(
      in_channels, out_channels, kernel_size,
      nn::Conv2d::Options{.stride = stride, .padding = kernel_size / 2});
}

bool is_deep_stem(ResNetStem stem) {
  return stem == ResNetStem::kDeep || stem == ResNetStem::kDeepTiered;
}

}  // namespace

ResNet::ResNet(const ResNetConfig& config) : config_(config), channels_(config.width) {
  config::Problems problems;
  config::Schema<ResNetConfig>::validate(config, problems);
  problems.throw_if_any();
  add_stem();
  if (config.stem != ResNetStem::kSmall) {
    maxpool_ = register_module("maxpool", std::make_shared<nn::MaxPool2d>(nn::MaxPool2d::Options{
                                              .kernel_size = 3, .stride = 2, .padding = 1}));
  }
  for (std::size_t i = 0; i < config.layers.size(); ++i) add_layer(i);
  drop_ = register_module("drop", std::make_shared<nn::Dropout>(config.drop_rate, 0));
  fc_ =
      register_module("fc", std::make_shared<nn::Head>(channels_, config.num_classes, config.head));
}

void ResNet::add_stem() {
  if (is_deep_stem(config_.stem)) {
    add_deep_stem();
  } else {
    const bool small = config_.stem == ResNetStem::kSmall;
    stem_.push_back({register_module(
        "conv1", stem_conv(config_.in_channels, channels_, small ? 3 : 7, small ? 1 : 2))});
  }
  stem_.back().norm = register_module("bn1", std::make_shared<nn::BatchNorm2d>(channels_));
}

void ResNet::add_deep_stem() {
  const auto group = register_module("conv1", std::make_shared<torch::nn::Module>());
  const std::int64_t half = channels_ / 2;
  const std::int64_t first = config_.stem == ResNetStem::kDeepTiered ? 3 * (half / 4) : half;
  stem_ = {{group->register_module("0", stem_conv(config_.in_channels, first, 3, 2)),
            group->register_module("1", std::make_shared<nn::BatchNorm2d>(first))},
           {group->register_module("3", stem_conv(first, half, 3, 1)),
            group->register_module("4", std::make_shared<nn::BatchNorm2d>(half))},
           {group->register_module("6", stem_conv(half, channels_, 3, 1))}};
}

ResidualBlockConfig ResNet::block_config(std::size_t layer, bool is_first) const {
  const std::int64_t width = config_.width << layer;
  const bool is_bottleneck = config_.block == ResNetBlock::kBottleneck;
  const std::int64_t num_blocks = std::reduce(config_.layers.begin(), config_.layers.end());
  return {.block = config_.block,
          .shortcut = config_.shortcut,
          .in_channels = channels_,
          .width = is_bottleneck ? width * config_.width_per_group / 64 * config_.groups : width,
          .out_channels = is_bottleneck ? 4 * width : width,
          .stride = is_first && layer > 0 ? 2 : 1,
          .groups = config_.groups,
          .drop_path_rate =
              nn::drop_path_rate(config_.drop_path_rate, std::ssize(blocks_), num_blocks)};
}

void ResNet::add_layer(std::size_t index) {
  const auto layer =
      register_module("layer" + std::to_string(index + 1), std::make_shared<torch::nn::Module>());
  for (std::int64_t i = 0; i < config_.layers[index]; ++i) {
    const ResidualBlockConfig block = block_config(index, i == 0);
    blocks_.push_back(layer->register_module(
        std::to_string(i), std::make_shared<ResidualBlock>(block, 1 + blocks_.size())));
    channels_ = block.out_channels;
  }
}

at::Tensor ResNet::forward_images(const at::Tensor& images, const nn::ForwardContext& context) {
  at::Tensor x = images;
  for (const nn::ConvStep& step : stem_) x = step.forward(x, nn::Activation::kRelu);
  if (maxpool_) x = maxpool_->forward(x);
  for (const auto& block : blocks_) x = block->forward(x, context);
  return fc_->forward(drop_->forward(x.mean({2, 3}), x.size(0), context));
}

void ResNet::initialize_parameter(const nn::NamedTensor& parameter,
                                  const tensor::DrawKey& key) const {
  if (fc_->initialize_mlp("fc", parameter, key)) return;
  const at::Tensor& tensor = parameter.tensor;
  const bool ends_branch = parameter.name.ends_with(
      config_.block == ResNetBlock::kBottleneck ? ".bn3.weight" : ".bn2.weight");
  if (config_.zero_init_residual && ends_branch) {
    nn::constant(tensor, 0.0);
  } else if (config_.weight_init == ResNetInit::kMosaic) {
    initialize_as_mosaic(parameter, key);
  } else if (tensor.dim() == 4) {
    nn::kaiming_normal_fan_out(tensor, key);
  } else if (parameter.name == "fc.weight") {
    nn::default_weight(tensor, key);
  } else if (parameter.name == "fc.bias") {
    nn::default_bias(tensor, fc_->weight(), key);
  } else {
    nn::constant(tensor, parameter.name.ends_with(".bias") ? 0.0 : 1.0);
  }
}

void ResNet::initialize_as_mosaic(const nn::NamedTensor& parameter,
                                  const tensor::DrawKey& key) const {
  const at::Tensor& tensor = parameter.tensor;
  if (tensor.dim() > 1) {
    const auto fan_in = static_cast<double>(tensor.numel() / tensor.size(0));
    tensor::fill_normal(tensor, 0.0, std::sqrt(2.0 / fan_in), key);
  } else if (parameter.name == "fc.bias") {
    nn::constant(tensor, -std::log(static_cast<double>(config_.num_classes)));
  } else if (parameter.name.ends_with(".bias")) {
    nn::constant(tensor, 0.0);
  } else {
    tensor::fill_uniform(tensor, 0.0, 1.0, key);
  }
}

nn::ImageSize ResNet::usual_size() const {
  return config_.stem == ResNetStem::kSmall ? nn::ImageSize{32, 32}
                                            : CountedImageNetwork::usual_size();
}

void ResNet::fold_norms(at::ScalarType dtype) {
  for (nn::ConvStep& step : stem_) step.fold(dtype);
}

void ResNet::count_image(nn::ImageSize size, nn::LayerCosts& costs) const {
  for (const nn::ConvStep& step : stem_) step.conv->count(size, costs);
  if (maxpool_) maxpool_->count(config_.width, size, costs);
  for (const auto& block : blocks_) block->count(size, costs);
  fc_->count(costs);
}

std::unique_ptr<nn::Network> make(const ResNetConfig& config) {
  return std::make_unique<ResNet>(config);
}

}  // namespace paceline::models

void paceline::config::Schema<paceline::models::ResNetConfig>::validate(const T& config,
                                                                        Problems& problems) {
  using namespace models;
  if (config.layers.size() > kMostResNetLayers) {
    problems.add("layers", fmt::format("at most {} layers, each half as large as the last, got {}",
                                       kMostResNetLayers, config.layers.size()));
  }
  if (config.block == ResNetBlock::kBasic && (config.groups != 1 || config.width_per_group != 64)) {
    problems.add("block",
                 "basic blocks have one group of 64: set block to bottleneck, or leave "
                 "groups and width_per_group out");
  }
  if (config.width * config.width_per_group < 64) {
    const std::int64_t width = std::max<std::int64_t>(config.width, 1);
    problems.add("width_per_group",
                 fmt::format("must be at least {} with width {}, of which a group of layer1 has as "
                             "many 64ths, got {}",
                             (63 + width) / width, config.width, config.width_per_group));
  }
  const std::int64_t divisor = config.stem == ResNetStem::kDeepTiered ? 8 : 2;
  if (is_deep_stem(config.stem) && config.width % divisor != 0) {
    problems.add("width", fmt::format("must be a multiple of {} with this stem, got {}", divisor,
                                      config.width));
  }
}
