#include "paceline/models/inverted_residual/features.h"

namespace paceline::models {

InvertedResidualFeatures::InvertedResidualFeatures(const InvertedResidualFeaturesConfig& config) {
  const auto options = [&](std::int64_t kernel_size, std::int64_t stride) {
    return nn::ConvNorm::Options{.kernel_size = kernel_size,
                                 .stride = stride,
                                 .activation = config.activation,
                                 .norm_eps = config.style.norm_eps,
                                 .norm_momentum = config.style.norm_momentum};
  };
  first_ = register_module(
      "0", std::make_shared<nn::ConvNorm>(
               config.in_channels, config.stages.front().front().in_channels, options(3, 2)));
  add_blocks(config);
  last_ = register_module(std::to_string(children().size()),
                          std::make_shared<nn::ConvNorm>(config.stages.back().back().out_channels,
                                                         config.last_channels, options(1, 1)));
}

void InvertedResidualFeatures::add_blocks(const InvertedResidualFeaturesConfig& config) {
  std::size_t total = 0;
  for (const auto& stage : config.stages) total += stage.size();
  for (const auto& stage : config.stages) {
    torch::nn::Module* parent = this;
    if (config.names_stages) {
      parent =
          register_module(std::to_string(children().size()), std::make_shared<torch::nn::Module>())
              .get();
    }
    for (const InvertedResidualConfig& block : stage) {
      const std::size_t i = blocks_.size();
      const double drop_path_rate =
          config.drop_path_rate * static_cast<double>(i) / static_cast<double>(total);
      blocks_.push_back(parent->register_module(
          std::to_string(parent->children().size()),
          std::make_shared<InvertedResidual>(block, config.style, drop_path_rate, 1 + i)));
    }
  }
}

at::Tensor InvertedResidualFeatures::forward(const at::Tensor& images,
                                             const nn::ForwardContext& context) const {
  at::Tensor x = first_->forward(images);
  for (const auto& block : blocks_) x = block->forward(x, context);
  return last_->forward(x).mean({2, 3});
}

void InvertedResidualFeatures::count(nn::ImageSize size, nn::LayerCosts& costs) const {
  first_->count(size, costs);
  for (const auto& block : blocks_) block->count(size, costs);
  last_->count(size, costs);
}

}  // namespace paceline::models
