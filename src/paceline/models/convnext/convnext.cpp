#include "paceline/models/convnext/convnext.h"

#include "paceline/nn/init.h"

#include <numeric>
#include <string>

namespace paceline::models {
namespace {

constexpr std::int64_t kStride = 32;  // of the last stage's pixels

void check_size(std::int64_t height, std::int64_t width) {
  if (height >= kStride && width >= kStride) return;
  throw base::ConfigError(
      fmt::format("a ConvNeXt takes images of {0}x{0} pixels and more, got {1}x{2}: set "
                  "data.image_size={0} or larger, or choose another model",
                  kStride, height, width));
}

}  // namespace

ConvNext::ConvNext(const ConvNextConfig& config) : config_(config) {
  const auto stem = register_module("stem", std::make_shared<torch::nn::Module>());
  stem_conv_ = stem->register_module(
      "0", std::make_shared<nn::Conv2d>(config.in_channels, config.dims.front(), 4,
                                        nn::Conv2d::Options{.stride = 4, .bias = true}));
  stem_norm_ =
      stem->register_module("1", std::make_shared<nn::LayerNorm>(config.dims[0], kConvNextNormEps));
  const auto stages = register_module("stages", std::make_shared<torch::nn::Module>());
  std::int64_t num_blocks = 0;
  for (std::size_t number = 0; number < config.depths.size(); ++number) {
    add_stage(*stages, number, num_blocks);
    num_blocks += config.depths.at(number);
  }
  const auto head = register_module("head", std::make_shared<torch::nn::Module>());
  const std::int64_t dim = config.dims.back();
  head_norm_ =
      head->register_module("norm", std::make_shared<nn::LayerNorm>(dim, kConvNextNormEps));
  head_drop_ = head->register_module("drop", std::make_shared<nn::Dropout>(config.drop_rate, 0));
  head_fc_ =
      head->register_module("fc", std::make_shared<nn::Head>(dim, config.num_classes, config.head));
}

void ConvNext::add_stage(torch::nn::Module& stages, std::size_t number, std::int64_t first_block) {
  const auto& depths = config_.depths;
  const auto total = std::accumulate(depths.begin(), depths.end(), std::int64_t{0});
  const auto module =
      stages.register_module(std::to_string(number), std::make_shared<torch::nn::Module>());
  Stage stage;
  if (number > 0) {
    stage.downsample = module->register_module(
        "downsample",
        std::make_shared<ConvNextDownsample>(config_.dims.at(number - 1), config_.dims.at(number)));
  }
  const auto blocks = module->register_module("blocks", std::make_shared<torch::nn::Module>());
  for (std::int64_t i = 0; i < depths.at(number); ++i) {
    const ConvNextBlockConfig block{
        .dim = config_.dims.at(number),
        .layer_scale = config_.ls_init_value.has_value(),
        .use_grn = config_.use_grn,
        .conv_mlp = config_.conv_mlp,
        .drop_path_rate = nn::drop_path_rate(config_.drop_path_rate, first_block + i, total),
        .fused = config_.fused};
    stage.blocks.push_back(blocks->register_module(
        std::to_string(i),
        std::make_shared<ConvNextBlock>(block, 1 + static_cast<std::uint64_t>(first_block + i))));
  }
  stages_.push_back(std::move(stage));
}

at::Tensor ConvNext::forward_images(const at::Tensor& images, const nn::ForwardContext& context) {
  check_size(images.size(2), images.size(3));
  at::Tensor x = stem_norm_->forward_channels(stem_conv_->forward(images));
  for (const Stage& stage : stages_) {
    if (stage.downsample) x = stage.downsample->forward(x);
    for (const auto& block : stage.blocks) x = block->forward(x, context);
  }
  const at::Tensor features = head_norm_->forward(x.mean({2, 3}));
  return head_fc_->forward(head_drop_->forward(features, images.size(0), context));
}

void ConvNext::initialize_parameter(const nn::NamedTensor& parameter,
                                    const tensor::DrawKey& key) const {
  if (head_fc_->initialize_mlp("head.fc", parameter, key)) return;
  const std::string& name = parameter.name;
  if (parameter.tensor.dim() > 1) {
    nn::truncated_normal(parameter.tensor, 0.02, key);
  } else if (name.ends_with(".gamma")) {
    nn::constant(parameter.tensor, config_.ls_init_value.value());
  } else {
    const bool is_zero = name.ends_with(".bias") || name.ends_with(".grn.weight");
    nn::constant(parameter.tensor, is_zero ? 0.0 : 1.0);
  }
}

void ConvNext::count_image(nn::ImageSize size, nn::LayerCosts& costs) const {
  check_size(size.height, size.width);
  stem_conv_->count(size, costs);
  for (const Stage& stage : stages_) {
    if (stage.downsample) stage.downsample->count(size, costs);
    for (const auto& block : stage.blocks) block->count(size, costs);
  }
  head_fc_->count(costs);
}

std::vector<std::vector<std::string>> ConvNext::layer_names() const {
  std::vector<std::vector<std::string>> layers{{"stem"}};
  for (std::size_t number = 0; number < stages_.size(); ++number) {
    for (std::size_t i = 0; i < stages_[number].blocks.size(); ++i) {
      layers.push_back({fmt::format("stages.{}.blocks.{}", number, i)});
      if (i == 0) layers.back().push_back(fmt::format("stages.{}.downsample", number));
    }
  }
  layers.push_back({"head"});
  return layers;
}

std::unique_ptr<nn::Network> make(const ConvNextConfig& config) {
  return std::make_unique<ConvNext>(config);
}

void add_convnexts(config::Registry<nn::Network>& registry) {
  const ConvNextConfig v2{.ls_init_value = std::nullopt, .use_grn = true};
  const auto add = [&](const std::string& size, std::array<std::int64_t, 4> depths,
                       std::int64_t dim, ConvNextConfig config) {
    config.depths = depths;
    config.dims = {dim, 2 * dim, 4 * dim, 8 * dim};
    registry.add<ConvNextConfig>(
        fmt::format("convnext{}_{}", config.use_grn ? "v2" : "", size),
        fmt::format("ConvNeXt{}-{}, timm's names.", config.use_grn ? " V2" : "", size), config);
  };
  ConvNextConfig small_v2 = v2;
  small_v2.conv_mlp = true;
  add("atto", {2, 2, 6, 2}, 40, small_v2);
  add("femto", {2, 2, 6, 2}, 48, small_v2);
  add("pico", {2, 2, 6, 2}, 64, small_v2);
  add("nano", {2, 2, 8, 2}, 80, small_v2);
  for (const ConvNextConfig& version : {ConvNextConfig{}, v2}) {
    add("tiny", {3, 3, 9, 3}, 96, version);
    add("small", {3, 3, 27, 3}, 96, version);
    add("base", {3, 3, 27, 3}, 128, version);
    add("large", {3, 3, 27, 3}, 192, version);
  }
  registry.add<ConvNextConfig>();
}

}  // namespace paceline::models
