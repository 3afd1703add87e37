#include "paceline/models/resnet/resnet9.h"

#include "paceline/base/error.h"
#include "paceline/nn/init.h"
#include "paceline/nn/module_tree.h"

namespace paceline::models {
namespace {

constexpr std::int64_t kLeastResNet9Size = 8;  ///< of an image, which is halved three times

nn::ConvStep add_resnet9_step(torch::nn::Module& parent, std::int64_t in_channels,
                              std::int64_t out_channels) {
  return {parent.register_module("conv",
                                 std::make_shared<nn::Conv2d>(in_channels, out_channels, 3,
                                                              nn::Conv2d::Options{.padding = 1})),
          parent.register_module("bn", std::make_shared<nn::BatchNorm2d>(out_channels))};
}

void check_resnet9_size(std::int64_t height, std::int64_t width) {
  if (height >= kLeastResNet9Size && width >= kLeastResNet9Size) return;
  throw base::ConfigError(
      fmt::format("model.name: resnet9 takes images of at least {0}x{0} pixels, got {1}x{2}: set "
                  "data.image_size, or choose another model",
                  kLeastResNet9Size, height, width));
}

}  // namespace

ResNet9Layer::ResNet9Layer(std::int64_t in_channels, std::int64_t out_channels, bool is_residual)
    : step_(add_resnet9_step(*this, in_channels, out_channels)) {
  pool_ = register_module("pool", std::make_shared<nn::MaxPool2d>(
                                      nn::MaxPool2d::Options{.kernel_size = 2, .stride = 2}));
  if (!is_residual) return;
  const auto residual = register_module("residual", std::make_shared<torch::nn::Module>());
  for (const char* name : {"res1", "res2"}) {
    const auto group = residual->register_module(name, std::make_shared<torch::nn::Module>());
    residual_.push_back(add_resnet9_step(*group, out_channels, out_channels));
  }
}

at::Tensor ResNet9Layer::forward(const at::Tensor& input) const {
  return run(input, [this](const at::Tensor& x) { return compute(x); });
}

at::Tensor ResNet9Layer::compute(const at::Tensor& input) const {
  const at::Tensor pooled = pool_->forward(step_.forward(input, nn::Activation::kRelu));
  if (residual_.empty()) return pooled;
  at::Tensor branch = pooled;
  for (const nn::ConvStep& step : residual_) branch = step.forward(branch, nn::Activation::kRelu);
  return pooled + branch;
}

void ResNet9Layer::fold_norms(at::ScalarType dtype) {
  step_.fold(dtype);
  for (nn::ConvStep& step : residual_) step.fold(dtype);
}

void ResNet9Layer::count(nn::ImageSize& size, nn::LayerCosts& costs) const {
  step_.conv->count(size, costs);
  pool_->count(step_.conv->weight.size(0), size, costs);
  for (const nn::ConvStep& step : residual_) step.conv->count(size, costs);
}

ResNet9::ResNet9(const ResNet9Config& config) : config_(config) {
  const std::int64_t width = config.width;
  const auto prep = register_module("prep", std::make_shared<torch::nn::Module>());
  prep_ = add_resnet9_step(*prep, config.in_channels, width);
  const auto add_layer = [&](const char* name, std::int64_t in, bool is_residual) {
    layers_.push_back(
        register_module(name, std::make_shared<ResNet9Layer>(in, 2 * in, is_residual)));
  };
  add_layer("layer1", width, true);
  add_layer("layer2", 2 * width, false);
  add_layer("layer3", 4 * width, true);
  linear_ = register_module("linear", std::make_shared<nn::Head>(8 * width, config.num_classes,
                                                                 config.head, /*has_bias=*/false));
}

at::Tensor ResNet9::forward_images(const at::Tensor& images,
                                   const nn::ForwardContext& /*context*/) {
  check_resnet9_size(images.size(2), images.size(3));
  at::Tensor x = prep_.forward(images, nn::Activation::kRelu);
  for (const auto& layer : layers_) x = layer->forward(x);
  const at::Tensor largest = at::max_pool2d(x, {x.size(2), x.size(3)}).flatten(1);
  return linear_->forward(largest) * config_.logit_scale;
}

void ResNet9::initialize_parameter(const nn::NamedTensor& parameter,
                                   const tensor::DrawKey& key) const {
  if (linear_->initialize_mlp("linear", parameter, key)) return;
  const at::Tensor& tensor = parameter.tensor;
  if (tensor.dim() > 1) {
    nn::default_weight(tensor, key);
  } else {
    nn::constant(tensor, parameter.name.ends_with(".bias") ? 0.0 : 1.0);
  }
}

void ResNet9::count_image(nn::ImageSize size, nn::LayerCosts& costs) const {
  check_resnet9_size(size.height, size.width);
  prep_.conv->count(size, costs);
  for (const auto& layer : layers_) layer->count(size, costs);
  linear_->count(costs);
}

std::unique_ptr<nn::Network> make(const ResNet9Config& config) {
  return std::make_unique<ResNet9>(config);
}

}  // namespace paceline::models
