#include "paceline/models/resnet/residual_block.h"

#include "paceline/nn/blocks/skipped_branch.h"

#include <span>
#include <string>

namespace paceline::models {
namespace {

at::Tensor pad_channels(const at::Tensor& input, std::int64_t out_channels, std::int64_t stride) {
  const at::Tensor kept = input.slice(2, 0, std::nullopt, stride).slice(3, 0, std::nullopt, stride);
  const std::int64_t added = out_channels - input.size(1);
  return at::constant_pad_nd(kept, {0, 0, 0, 0, added / 2, added - added / 2});
}

/// Rows and columns beyond the last whole window are one of fewer pixels.
at::Tensor mean_of_pixels(const at::Tensor& input, std::int64_t stride) {
  return at::avg_pool2d(input, {2, 2}, {stride, stride}, {0, 0}, /*ceil_mode=*/true,
                        /*count_include_pad=*/false);
}

}  // namespace

ResidualBlock::ResidualBlock(const ResidualBlockConfig& config, std::uint64_t draw_index)
    : config_(config) {
  const std::int64_t width = config.width;
  const nn::Conv2d::Options strided{.stride = config.stride, .padding = 1, .groups = config.groups};
  if (config.block == ResNetBlock::kBottleneck) {
    add_to_branch(config.in_channels, width, 1, {});
    add_to_branch(width, width, 3, strided);
    add_to_branch(width, config.out_channels, 1, {});
  } else {
    add_to_branch(config.in_channels, width, 3, strided);
    add_to_branch(width, config.out_channels, 3, {.padding = 1});
  }
  if (changes_size() && config.shortcut != ResNetShortcut::kPadding) add_downsample();
  drop_path_ = register_module("drop_path",
                               std::make_shared<nn::DropPath>(config.drop_path_rate, draw_index));
}

void ResidualBlock::add_to_branch(std::int64_t in_channels, std::int64_t out_channels,
                                  std::int64_t kernel_size, const nn::Conv2d::Options& options) {
  const std::string number = std::to_string(branch_.size() + 1);
  nn::ConvStep step;
  step.conv = register_module(
      "conv" + number,
      std::make_shared<nn::Conv2d>(in_channels, out_channels, kernel_size, options));
  step.norm = register_module("bn" + number, std::make_shared<nn::BatchNorm2d>(out_channels));
  branch_.push_back(std::move(step));
}

void ResidualBlock::add_downsample() {
  const bool is_pooled = config_.shortcut == ResNetShortcut::kAveragePool;
  const auto group = register_module("downsample", std::make_shared<torch::nn::Module>());
  downsample_.conv = group->register_module(
      is_pooled ? "1" : "0",
      std::make_shared<nn::Conv2d>(config_.in_channels, config_.out_channels, 1,
                                   nn::Conv2d::Options{.stride = is_pooled ? 1 : config_.stride}));
  downsample_.norm = group->register_module(
      is_pooled ? "2" : "1", std::make_shared<nn::BatchNorm2d>(config_.out_channels));
}

at::Tensor ResidualBlock::forward(const at::Tensor& input,
                                  const nn::ForwardContext& context) const {
  return run(input, [=, this](const at::Tensor& x) { return compute(x, context); });
}

at::Tensor ResidualBlock::compute(const at::Tensor& input,
                                  const nn::ForwardContext& context) const {
  if (drop_path_->drops_all(input.size(0), context)) return skip(input);
  at::Tensor output = input;
  for (const nn::ConvStep& step : std::span(branch_).first(branch_.size() - 1))
    output = step.forward(output, nn::Activation::kRelu);
  const nn::ConvStep& last = branch_.back();
  if (!drop_path_->is_active()) return last.forward_add_relu(output, shortcut(input));
  output = drop_path_->forward(last.forward(output), input.size(0), context) + shortcut(input);
  return at::relu_(output);
}

at::Tensor ResidualBlock::skip(const at::Tensor& input) const {
  std::vector<const torch::nn::Module*> branch;
  for (const nn::ConvStep& step : branch_)
    branch.insert(branch.end(), {step.conv.get(), step.norm.get()});
  const at::Tensor output = nn::add_nothing_of(shortcut(input), branch);
  return changes_size() ? at::relu(output) : output;
}

void ResidualBlock::fold_norms(at::ScalarType dtype) {
  for (nn::ConvStep& step : branch_) step.fold(dtype);
  if (downsample_.conv) downsample_.fold(dtype);
}

at::Tensor ResidualBlock::shortcut(const at::Tensor& input) const {
  if (downsample_.conv)
    return downsample_.forward(pools() ? mean_of_pixels(input, config_.stride) : input);
  return changes_size() ? pad_channels(input, config_.out_channels, config_.stride) : input;
}

void ResidualBlock::count(nn::ImageSize& size, nn::LayerCosts& costs) const {
  nn::ImageSize input = size;
  for (const nn::ConvStep& step : branch_) step.conv->count(size, costs);
  if (pools()) input = size;
  if (downsample_.conv) downsample_.conv->count(input, costs);
}

}  // namespace paceline::models
