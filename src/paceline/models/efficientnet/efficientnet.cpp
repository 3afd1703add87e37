#include "paceline/models/efficientnet/efficientnet.h"

#include "paceline/nn/init.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace paceline::models {
namespace {

EfficientNetShape b_shape() {
  return {32,
          {{false, 1, 3, 1, 16, 1},
           {false, 6, 3, 2, 24, 2},
           {false, 6, 5, 2, 40, 2},
           {false, 6, 3, 2, 80, 3},
           {false, 6, 5, 1, 112, 3},
           {false, 6, 5, 2, 192, 4},
           {false, 6, 3, 1, 320, 1}},
          0,
          1e-5};
}

EfficientNetShape v2_s_shape() {
  return {24,
          {{true, 1, 3, 1, 24, 2},
           {true, 4, 3, 2, 48, 4},
           {true, 4, 3, 2, 64, 4},
           {false, 4, 3, 2, 128, 6},
           {false, 6, 3, 1, 160, 9},
           {false, 6, 3, 2, 256, 15}},
          1280,
          1e-3};
}

std::vector<InvertedResidualConfig> stage_config(const EfficientNetStage& stage,
                                                 const EfficientNetConfig& config,
                                                 std::int64_t in_channels) {
  const auto num_blocks = static_cast<std::int64_t>(
      std::ceil(static_cast<double>(stage.num_blocks) * config.depth_mult));
  std::vector<InvertedResidualConfig> blocks;
  for (std::int64_t i = 0; i < num_blocks; ++i) {
    const std::int64_t channels = i == 0 ? in_channels : blocks.back().out_channels;
    blocks.push_back(
        {.in_channels = channels,
         .expanded_channels = rounded_channels(static_cast<double>(channels) * stage.expand_ratio),
         .out_channels =
             rounded_channels(static_cast<double>(stage.out_channels) * config.width_mult),
         .kernel_size = stage.kernel_size,
         .stride = i == 0 ? stage.stride : 1,
         .squeeze_channels = stage.fused ? 0 : std::max<std::int64_t>(1, channels / 4),
         .fused = stage.fused,
         .activation = nn::Activation::kSilu});
  }
  return blocks;
}

InvertedResidualFeaturesConfig features_config(const EfficientNetShape& shape,
                                               const EfficientNetConfig& config) {
  std::int64_t channels =
      rounded_channels(static_cast<double>(shape.first_channels) * config.width_mult);
  std::vector<std::vector<InvertedResidualConfig>> stages;
  for (const EfficientNetStage& stage : shape.stages) {
    stages.push_back(stage_config(stage, config, channels));
    channels = stages.back().back().out_channels;
  }
  return {.in_channels = config.in_channels,
          .activation = nn::Activation::kSilu,
          .style = {.squeeze_activation = nn::Activation::kSilu, .norm_eps = shape.norm_eps},
          .stages = stages,
          .names_stages = true,
          .last_channels = shape.last_channels > 0 ? shape.last_channels : 4 * channels,
          .drop_path_rate = config.drop_path_rate};
}

}  // namespace

EfficientNet::EfficientNet(const EfficientNetShape& shape, const EfficientNetConfig& config)
    : config_(config), image_size_(shape.image_size) {
  const InvertedResidualFeaturesConfig features = features_config(shape, config);
  features_ = register_module("features", std::make_shared<InvertedResidualFeatures>(features));
  const auto classifier = register_module("classifier", std::make_shared<torch::nn::Module>());
  dropout_ = classifier->register_module("0", std::make_shared<nn::Dropout>(config.drop_rate, 0));
  output_ = classifier->register_module(
      "1", std::make_shared<nn::Head>(features.last_channels, config.num_classes, config.head));
}

at::Tensor EfficientNet::forward_images(const at::Tensor& images,
                                        const nn::ForwardContext& context) {
  const at::Tensor features = features_->forward(images, context);
  return output_->forward(dropout_->forward(features, images.size(0), context));
}

void EfficientNet::initialize_parameter(const nn::NamedTensor& parameter,
                                        const tensor::DrawKey& key) const {
  if (output_->initialize_mlp("classifier.1", parameter, key)) return;
  const at::Tensor& tensor = parameter.tensor;
  if (tensor.dim() == 4) {
    nn::kaiming_normal_fan_out(tensor, key);
  } else if (tensor.dim() == 2) {
    const double bound = 1.0 / std::sqrt(static_cast<double>(tensor.size(0)));  // by the outputs
    tensor::fill_uniform(tensor, -bound, bound, key);
  } else {
    nn::constant(tensor, parameter.name.ends_with(".bias") ? 0.0 : 1.0);
  }
}

void EfficientNet::count_image(nn::ImageSize size, nn::LayerCosts& costs) const {
  features_->count(size, costs);
  output_->count(costs);
}

void add_efficientnets(config::Registry<nn::Network>& registry) {
  const auto add = [&](const std::string& name, const std::string& title, int image_size,
                       EfficientNetShape shape, const EfficientNetConfig& defaults) {
    shape.image_size = image_size;
    registry.add<EfficientNetConfig>(
        "efficientnet_" + name,
        fmt::format("EfficientNet{}, torchvision's names; made for {} pixels.", title, image_size),
        defaults, [shape](const EfficientNetConfig& config) {
          return std::make_unique<EfficientNet>(shape, config);
        });
  };
  add("b0", "-B0", 224, b_shape(), {});
  add("b1", "-B1", 240, b_shape(), {.depth_mult = 1.1});
  add("b2", "-B2", 288, b_shape(), {.width_mult = 1.1, .depth_mult = 1.2, .drop_rate = 0.3});
  add("b3", "-B3", 300, b_shape(), {.width_mult = 1.2, .depth_mult = 1.4, .drop_rate = 0.3});
  add("b4", "-B4", 380, b_shape(), {.width_mult = 1.4, .depth_mult = 1.8, .drop_rate = 0.4});
  add("v2_s", "V2-S", 384, v2_s_shape(), {});
}

}  // namespace paceline::models
