#include "paceline/models/inverted_residual/inverted_residual.h"

#include "paceline/nn/blocks/skipped_branch.h"

#include <algorithm>
#include <array>
#include <string>

namespace paceline::models {

std::int64_t rounded_channels(double channels) {
  const std::int64_t nearest =
      std::max<std::int64_t>(8, static_cast<std::int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(nearest) < 0.9 * channels ? nearest + 8 : nearest;
}

InvertedResidual::InvertedResidual(const InvertedResidualConfig& config,
                                   const InvertedResidualStyle& style, double drop_path_rate,
                                   std::uint64_t draw_index) {
  const auto block = register_module("block", std::make_shared<torch::nn::Module>());
  const auto add = [&]<class Layer>(std::shared_ptr<Layer> layer) {
    return block->register_module(std::to_string(block->children().size()), std::move(layer));
  };
  const auto add_conv = [&](std::int64_t in, std::int64_t out, nn::ConvNorm::Options options) {
    options.norm_eps = style.norm_eps;
    options.norm_momentum = style.norm_momentum;
    convs_.push_back(add(std::make_shared<nn::ConvNorm>(in, out, options)));
  };
  const std::int64_t expanded = config.expanded_channels;
  const bool expands = expanded != config.in_channels;
  const bool projects = expands || !config.fused;
  if (expands && !config.fused)
    add_conv(config.in_channels, expanded, {.kernel_size = 1, .activation = config.activation});
  add_conv(config.fused ? config.in_channels : expanded, projects ? expanded : config.out_channels,
           {.kernel_size = config.kernel_size,
            .stride = config.stride,
            .groups = config.fused ? 1 : expanded,
            .activation = config.activation});
  if (config.squeeze_channels > 0) {
    squeeze_ = add(std::make_shared<nn::SqueezeExcitation>(expanded, config.squeeze_channels,
                                                           style.squeeze_activation, style.gate));
  }
  if (projects) add_conv(expanded, config.out_channels, {.kernel_size = 1});
  if (config.stride == 1 && config.in_channels == config.out_channels) {
    drop_path_ =
        register_module("drop_path", std::make_shared<nn::DropPath>(drop_path_rate, draw_index));
  }
}

at::Tensor InvertedResidual::forward(const at::Tensor& input,
                                     const nn::ForwardContext& context) const {
  return run(input, [=, this](const at::Tensor& x) { return compute(x, context); });
}

at::Tensor InvertedResidual::compute(const at::Tensor& input,
                                     const nn::ForwardContext& context) const {
  if (drop_path_ && drop_path_->drops_all(input.size(0), context))
    return nn::add_nothing_of(input, std::array<const torch::nn::Module*, 1>{this});
  at::Tensor x = input;
  for (const auto& conv : convs_) {
    if (squeeze_ && conv == convs_.back()) x = squeeze_->forward(x);
    if (drop_path_ && !drop_path_->is_active() && conv == convs_.back())
      return conv->forward_add(x, input);
    x = conv->forward(x);
  }
  return drop_path_ ? drop_path_->forward(x, input.size(0), context) + input : x;
}

void InvertedResidual::count(nn::ImageSize& size, nn::LayerCosts& costs) const {
  for (const auto& conv : convs_) {
    if (squeeze_ && conv == convs_.back()) squeeze_->count(costs);
    conv->count(size, costs);
  }
}

}  // namespace paceline::models
