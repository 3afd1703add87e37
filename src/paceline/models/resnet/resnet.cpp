#include "paceline/models/resnet/resnet.h"

#include "paceline/nn/init.h"
#include "paceline/nn/module_tree.h"

#include <string>

namespace paceline::models {

ResidualBlock::ResidualBlock(std::int64_t in_channels, std::int64_t width, std::int64_t stride,
                             bool bottleneck)
    : out_channels_(bottleneck ? 4 * width : width) {
  if (bottleneck) {
    add_to_branch(in_channels, width, 1, 1);
    add_to_branch(width, width, 3, stride);
    add_to_branch(width, out_channels_, 1, 1);
  } else {
    add_to_branch(in_channels, width, 3, stride);
    add_to_branch(width, width, 3, 1);
  }
  if (stride != 1 || in_channels != out_channels_) {
    const auto group = register_module("downsample", std::make_shared<torch::nn::Module>());
    downsample_.conv = group->register_module(
        "0", std::make_shared<nn::Conv2d>(in_channels, out_channels_, 1,
                                          nn::Conv2d::Options{.stride = stride}));
    downsample_.norm =
        group->register_module("1", std::make_shared<nn::BatchNorm2d>(out_channels_));
  }
}

void ResidualBlock::add_to_branch(std::int64_t in_channels, std::int64_t out_channels,
                                  std::int64_t kernel_size, std::int64_t stride) {
  const std::string number = std::to_string(branch_.size() + 1);
  ConvNorm step;
  step.conv = register_module(
      "conv" + number, std::make_shared<nn::Conv2d>(
                           in_channels, out_channels, kernel_size,
                           nn::Conv2d::Options{.stride = stride, .padding = kernel_size / 2}));
  step.norm = register_module("bn" + number, std::make_shared<nn::BatchNorm2d>(out_channels));
  branch_.push_back(std::move(step));
}

at::Tensor ResidualBlock::ConvNorm::forward(const at::Tensor& input) const {
  return norm->forward(conv->forward(input));
}

at::Tensor ResidualBlock::forward(const at::Tensor& input) const {
  return run(input, [this](const at::Tensor& x) { return compute(x); });
}

at::Tensor ResidualBlock::compute(const at::Tensor& input) const {
  at::Tensor output = input;
  for (const ConvNorm& step : branch_) {
    output = step.forward(output);
    if (&step != &branch_.back()) at::relu_(output);
  }
  output.add_(downsample_.conv ? downsample_.forward(input) : input);
  return at::relu_(output);
}

double ResidualBlock::flops(nn::ImageSize& size) const {
  double total = downsample_.conv ? downsample_.conv->flops(size) : 0.0;
  for (const ConvNorm& step : branch_) {
    total += step.conv->flops(size);
    size = step.conv->output_size(size);
  }
  return total;
}

ResNet::ResNet(const ResNetShape& shape, const ResNetConfig& config)
    : config_(config), is_bottleneck_(shape.bottleneck), channels_(shape.width) {
  const bool small = config.stem == ResNetStem::kSmall;
  conv1_ = register_module(
      "conv1", std::make_shared<nn::Conv2d>(
                   3, channels_, small ? 3 : 7,
                   nn::Conv2d::Options{.stride = small ? 1 : 2, .padding = small ? 1 : 3}));
  bn1_ = register_module("bn1", std::make_shared<nn::BatchNorm2d>(channels_));
  if (!small) {
    maxpool_ = register_module("maxpool", std::make_shared<nn::MaxPool2d>(nn::MaxPool2d::Options{
                                              .kernel_size = 3, .stride = 2, .padding = 1}));
  }
  for (int number = 1; number <= 4; ++number) {
    add_layer(number, shape.width << (number - 1),
              shape.blocks.at(static_cast<std::size_t>(number - 1)), shape.bottleneck);
  }
  fc_ = register_module("fc", std::make_shared<nn::Linear>(channels_, config.num_classes));
}

void ResNet::add_layer(int number, std::int64_t width, std::int64_t blocks, bool bottleneck) {
  const auto layer =
      register_module("layer" + std::to_string(number), std::make_shared<torch::nn::Module>());
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::int64_t stride = i == 0 && number > 1 ? 2 : 1;
    blocks_.push_back(layer->register_module(
        std::to_string(i), std::make_shared<ResidualBlock>(channels_, width, stride, bottleneck)));
    channels_ = blocks_.back()->out_channels();
  }
}

at::Tensor ResNet::forward_images(const at::Tensor& images, const nn::ForwardContext& /*context*/) {
  at::Tensor x = bn1_->forward(conv1_->forward(images));
  at::relu_(x);
  if (maxpool_) x = maxpool_->forward(x);
  for (const auto& block : blocks_) x = block->forward(x);
  return fc_->forward(x.mean({2, 3}));
}

void ResNet::initialize_parameter(const nn::NamedTensor& parameter,
                                  const tensor::DrawKey& key) const {
  const at::Tensor& tensor = parameter.tensor;
  if (tensor.dim() == 4) {
    nn::kaiming_normal_fan_out(tensor, key);
  } else if (parameter.name == "fc.weight") {
    nn::default_weight(tensor, key);
  } else if (parameter.name == "fc.bias") {
    nn::default_bias(tensor, fc_->weight, key);
  } else {
    const bool ends_branch =
        parameter.name.ends_with(is_bottleneck_ ? ".bn3.weight" : ".bn2.weight");
    const bool is_zero =
        parameter.name.ends_with(".bias") || (config_.zero_init_residual && ends_branch);
    nn::constant(tensor, is_zero ? 0.0 : 1.0);
  }
}

double ResNet::flops_per_image(std::int64_t height, std::int64_t width) const {
  nn::ImageSize size{height, width};
  double total = conv1_->flops(size);
  size = conv1_->output_size(size);
  if (maxpool_) {
    total += maxpool_->flops(conv1_->weight.size(0), size);
    size = maxpool_->output_size(size);
  }
  for (const auto& block : blocks_) total += block->flops(size);
  return total + fc_->flops();
}

}  // namespace paceline::models
