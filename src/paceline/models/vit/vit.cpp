#include "paceline/models/vit/vit.h"

#include "paceline/base/error.h"
#include "paceline/nn/init.h"
#include "paceline/nn/module_tree.h"

#include <cmath>
#include <string>

namespace paceline::models {
namespace {

void check_divides(const char* what, std::int64_t value, const char* by, std::int64_t divisor) {
  if (value > 0 && divisor > 0 && value % divisor == 0) return;
  throw base::ConfigError(fmt::format(
      "a ViT's {} must be a positive multiple of its {}; got {} and {}", what, by, value, divisor));
}

VitBlockConfig block_config(const VitConfig& config, std::int64_t block) {
  return {.dim = config.embed_dim,
          .num_heads = config.num_heads,
          .mlp_dim =
              static_cast<std::int64_t>(static_cast<double>(config.embed_dim) * config.mlp_ratio),
          .proj_drop_rate = config.proj_drop_rate,
          .attn_drop_rate = config.attn_drop_rate,
          .drop_path_rate = nn::drop_path_rate(config.drop_path_rate, block, config.depth),
          .fused = config.fused};
}

}  // namespace

Vit::Vit(const VitConfig& config) : config_(config) {
  check_divides("img_size", config.img_size, "patch_size", config.patch_size);
  check_divides("embed_dim", config.embed_dim, "num_heads", config.num_heads);
  const std::int64_t grid = config.img_size / config.patch_size;
  tokens_ = grid * grid + 1;
  cls_token_ = register_parameter("cls_token", at::empty({1, 1, config.embed_dim}));
  pos_embed_ = register_parameter("pos_embed", at::empty({1, tokens_, config.embed_dim}));
  const auto patch_embed = register_module("patch_embed", std::make_shared<torch::nn::Module>());
  patch_proj_ = patch_embed->register_module(
      "proj",
      std::make_shared<nn::Conv2d>(3, config.embed_dim, config.patch_size,
                                   nn::Conv2d::Options{.stride = config.patch_size, .bias = true}));
  pos_drop_ = register_module("pos_drop", std::make_shared<nn::Dropout>(config.pos_drop_rate, 0));
  const auto blocks = register_module("blocks", std::make_shared<torch::nn::Module>());
  for (std::int64_t i = 0; i < config.depth; ++i) {
    const std::uint64_t first_index = 2 + static_cast<std::uint64_t>(i) * VitBlock::kDrawIndices;
    blocks_.push_back(blocks->register_module(
        std::to_string(i), std::make_shared<VitBlock>(block_config(config, i), first_index)));
  }
  norm_ = register_module("norm", std::make_shared<nn::LayerNorm>(config.embed_dim, 1e-6));
  head_drop_ = register_module("head_drop", std::make_shared<nn::Dropout>(config.drop_rate, 1));
  head_ =
      register_module("head", std::make_shared<nn::Linear>(config.embed_dim, config.num_classes));
}

void Vit::check_size(std::int64_t height, std::int64_t width) const {
  if (height == config_.img_size && width == config_.img_size) return;
  if (height != width)
    throw base::ConfigError(
        fmt::format("model.img_size: this ViT takes images of {0}x{0} pixels, got {1}x{2}: its "
                    "images are square; set data.image_size={0}, or choose another model",
                    config_.img_size, height, width));
  throw base::ConfigError(fmt::format(
      "model.img_size: this ViT takes images of {0}x{0} pixels, got {1}x{2}: set model.img_size to "
      "what the transforms leave, or data.image_size={0} where data.*_transforms are the usual "
      "ones",
      config_.img_size, height, width));
}

at::Tensor Vit::embed(const at::Tensor& images, const nn::ForwardContext& context) const {
  const std::int64_t batch = images.size(0);
  const at::Tensor patches = patch_proj_->forward(images).flatten(2).transpose(1, 2);
  const at::Tensor classes = cls_token_.expand({batch, -1, -1});
  const at::Tensor tokens = at::cat({classes, patches}, 1) + pos_embed_;
  return pos_drop_->forward(tokens.view({batch * tokens_, config_.embed_dim}), batch, context);
}

at::Tensor Vit::forward_images(const at::Tensor& images, const nn::ForwardContext& context) {
  check_size(images.size(2), images.size(3));
  const std::int64_t batch = images.size(0);
  at::Tensor x = embed(images, context);
  for (const auto& block : blocks_) x = block->forward(x, {batch, tokens_}, context);
  // Rows are normalised one by one, so only the class token's are.
  const at::Tensor classes =
      norm_->forward(x.view({batch, tokens_, config_.embed_dim}).select(1, 0));
  return head_->forward(head_drop_->forward(classes, batch, context));
}

void Vit::initialize_parameter(const nn::NamedTensor& parameter, const tensor::DrawKey& key) const {
  const at::Tensor& tensor = parameter.tensor;
  if (parameter.name == "cls_token") {
    tensor::fill_normal(tensor, 0.0, 1e-6, key);
  } else if (parameter.name == "pos_embed" || tensor.dim() == 2) {
    nn::truncated_normal(tensor, 0.02, key);
  } else if (parameter.name == "patch_embed.proj.weight") {
    nn::default_weight(tensor, key);
  } else if (parameter.name == "patch_embed.proj.bias") {
    nn::default_bias(tensor, patch_proj_->weight, key);
  } else {
    nn::constant(tensor, parameter.name.ends_with(".bias") ? 0.0 : 1.0);
  }
}

void Vit::count_image(nn::ImageSize size, nn::LayerCosts& costs) const {
  check_size(size.height, size.width);
  patch_proj_->count(size, costs);
  for (const auto& block : blocks_) block->count(tokens_, costs);
  head_->count(costs);
}

std::unique_ptr<nn::Network> make(const VitConfig& config) { return std::make_unique<Vit>(config); }

}  // namespace paceline::models

void paceline::config::Schema<paceline::models::VitConfig>::validate(const T& config,
                                                                     Problems& problems) {
  if (config.img_size % config.patch_size != 0) {
    problems.add("img_size", fmt::format("must be a multiple of patch_size ({}), got {}",
                                         config.patch_size, config.img_size));
  }
  if (config.embed_dim % config.num_heads != 0) {
    problems.add("embed_dim", fmt::format("must be a multiple of num_heads ({}), got {}",
                                          config.num_heads, config.embed_dim));
  }
}
