#include "paceline/models/mobilenet/mobilenet_v3.h"

#include "paceline/nn/init.h"

#include <string>

namespace paceline::models {
namespace {

constexpr std::int64_t kFirstChannels = 16;
constexpr auto kRelu = nn::Activation::kRelu;
constexpr auto kHardswish = nn::Activation::kHardswish;

MobileNetV3Shape small_shape() {
  return {{{3, 16, 16, true, kRelu, 2},
           {3, 72, 24, false, kRelu, 2},
           {3, 88, 24, false, kRelu, 1},
           {5, 96, 40, true, kHardswish, 2},
           {5, 240, 40, true, kHardswish, 1},
           {5, 240, 40, true, kHardswish, 1},
           {5, 120, 48, true, kHardswish, 1},
           {5, 144, 48, true, kHardswish, 1},
           {5, 288, 96, true, kHardswish, 2},
           {5, 576, 96, true, kHardswish, 1},
           {5, 576, 96, true, kHardswish, 1}},
          1024};
}

MobileNetV3Shape large_shape() {
  return {{{3, 16, 16, false, kRelu, 1},
           {3, 64, 24, false, kRelu, 2},
           {3, 72, 24, false, kRelu, 1},
           {5, 72, 40, true, kRelu, 2},
           {5, 120, 40, true, kRelu, 1},
           {5, 120, 40, true, kRelu, 1},
           {3, 240, 80, false, kHardswish, 2},
           {3, 200, 80, false, kHardswish, 1},
           {3, 184, 80, false, kHardswish, 1},
           {3, 184, 80, false, kHardswish, 1},
           {3, 480, 112, true, kHardswish, 1},
           {3, 672, 112, true, kHardswish, 1},
           {5, 672, 160, true, kHardswish, 2},
           {5, 960, 160, true, kHardswish, 1},
           {5, 960, 160, true, kHardswish, 1}},
          1280};
}

InvertedResidualFeaturesConfig features_config(const MobileNetV3Shape& shape,
                                               const MobileNetV3Config& config) {
  const auto scaled = [&](std::int64_t channels) {
    return rounded_channels(static_cast<double>(channels) * config.width_mult);
  };
  std::vector<InvertedResidualConfig> blocks;
  std::int64_t channels = scaled(kFirstChannels);
  for (const MobileNetV3Block& block : shape.blocks) {
    const std::int64_t expanded = scaled(block.expanded_channels);
    const auto quarter = static_cast<double>(expanded / 4);
    blocks.push_back({.in_channels = channels,
                      .expanded_channels = expanded,
                      .out_channels = scaled(block.out_channels),
                      .kernel_size = block.kernel_size,
                      .stride = block.stride,
                      .squeeze_channels = block.squeezes ? rounded_channels(quarter) : 0,
                      .activation = block.activation});
    channels = blocks.back().out_channels;
  }
  return {.in_channels = config.in_channels,
          .activation = kHardswish,
          .style = {.gate = nn::Activation::kHardsigmoid, .norm_eps = 1e-3, .norm_momentum = 0.01},
          .stages = {blocks},
          .last_channels = 6 * channels,
          .drop_path_rate = config.drop_path_rate};
}

}  // namespace

MobileNetV3::MobileNetV3(const MobileNetV3Shape& shape, const MobileNetV3Config& config)
    : config_(config) {
  const InvertedResidualFeaturesConfig features = features_config(shape, config);
  features_ = register_module("features", std::make_shared<InvertedResidualFeatures>(features));
  const std::int64_t hidden =
      rounded_channels(static_cast<double>(shape.hidden_channels) * config.width_mult);
  const auto classifier = register_module("classifier", std::make_shared<torch::nn::Module>());
  hidden_ = classifier->register_module(
      "0", std::make_shared<nn::Linear>(features.last_channels, hidden));
  dropout_ = classifier->register_module("2", std::make_shared<nn::Dropout>(config.drop_rate, 0));
  output_ = classifier->register_module(
      "3", std::make_shared<nn::Head>(hidden, config.num_classes, config.head));
}

at::Tensor MobileNetV3::forward_images(const at::Tensor& images,
                                       const nn::ForwardContext& context) {
  const at::Tensor features = features_->forward(images, context);
  const at::Tensor hidden = at::hardswish(hidden_->forward(features));
  return output_->forward(dropout_->forward(hidden, images.size(0), context));
}

void MobileNetV3::initialize_parameter(const nn::NamedTensor& parameter,
                                       const tensor::DrawKey& key) const {
  if (output_->initialize_mlp("classifier.3", parameter, key)) return;
  const at::Tensor& tensor = parameter.tensor;
  if (tensor.dim() == 4) {
    nn::kaiming_normal_fan_out(tensor, key);
  } else if (tensor.dim() == 2) {
    tensor::fill_normal(tensor, 0.0, 0.01, key);
  } else {
    nn::constant(tensor, parameter.name.ends_with(".bias") ? 0.0 : 1.0);
  }
}

void MobileNetV3::count_image(nn::ImageSize size, nn::LayerCosts& costs) const {
  features_->count(size, costs);
  hidden_->count(costs);
  output_->count(costs);
}

void add_mobilenets(config::Registry<nn::Network>& registry) {
  const auto add = [&](const std::string& size, const MobileNetV3Shape& shape) {
    registry.add<MobileNetV3Config>("mobilenet_v3_" + size,
                                    fmt::format("MobileNetV3-{}, torchvision's names.", size),
                                    MobileNetV3Config{}, [shape](const MobileNetV3Config& config) {
                                      return std::make_unique<MobileNetV3>(shape, config);
                                    });
  };
  add("small", small_shape());
  add("large", large_shape());
}

}  // namespace paceline::models
