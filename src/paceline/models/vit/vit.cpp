#include "paceline/models/vit/vit.h"

#include "paceline/base/error.h"
#include "paceline/models/vit/position_embedding.h"
#include "paceline/models/vit/vit_init.h"
#include "paceline/nn/module_tree.h"

#include <string>

namespace paceline::models {
namespace {

bool divides(std::int64_t divisor, std::int64_t value) {
  return value > 0 && divisor > 0 && value % divisor == 0;
}

VitBlockConfig block_config(const VitConfig& config, std::int64_t block) {
  return {.dim = config.embed_dim,
          .num_heads = config.num_heads,
          .mlp_dim =
              static_cast<std::int64_t>(static_cast<double>(config.embed_dim) * config.mlp_ratio),
          .qkv_bias = config.qkv_bias,
          .qk_norm = config.qk_norm,
          .layer_scale = config.init_values.has_value(),
          .proj_drop_rate = config.proj_drop_rate,
          .attn_drop_rate = config.attn_drop_rate,
          .drop_path_rate = nn::drop_path_rate(config.drop_path_rate, block, config.depth),
          .fused = config.fused};
}

std::uint64_t first_draw_index(std::int64_t block) {
  return 2 + static_cast<std::uint64_t>(block) * VitBlock::kDrawIndices;
}

}  // namespace

Vit::Vit(const VitConfig& config) : config_(config) {
  config::Problems problems;
  config::Schema<VitConfig>::validate(config, problems);
  problems.throw_if_any();
  grid_ = {config.img_size.height() / config.patch_size,
           config.img_size.width() / config.patch_size};
  add_embedding();
  add_blocks();
  add_head();
}

void Vit::add_embedding() {
  const std::int64_t dim = config_.embed_dim;
  if (config_.class_token) cls_token_ = register_parameter("cls_token", at::empty({1, 1, dim}));
  if (config_.reg_tokens > 0)
    reg_token_ = register_parameter("reg_token", at::empty({1, config_.reg_tokens, dim}));
  pos_embed_ = register_parameter(
      "pos_embed", at::empty({1, num_prefix_positions() + grid_.height * grid_.width, dim}));
  if (config_.distilled) dist_token_ = register_parameter("dist_token", at::empty({1, 1, dim}));
  const auto patch_embed = register_module("patch_embed", std::make_shared<torch::nn::Module>());
  patch_proj_ = patch_embed->register_module(
      "proj", std::make_shared<nn::Conv2d>(
                  config_.in_channels, dim, config_.patch_size,
                  nn::Conv2d::Options{.stride = config_.patch_size, .bias = !config_.pre_norm}));
  pos_drop_ = register_module("pos_drop", std::make_shared<nn::Dropout>(config_.pos_drop_rate, 0));
  if (config_.pre_norm)
    norm_pre_ =
        register_module("norm_pre", std::make_shared<nn::LayerNorm>(dim, VitBlock::kNormEps));
}

void Vit::add_blocks() {
  const auto blocks = register_module("blocks", std::make_shared<torch::nn::Module>());
  for (std::int64_t i = 0; i < config_.depth; ++i) {
    blocks_.push_back(blocks->register_module(
        std::to_string(i),
        std::make_shared<VitBlock>(block_config(config_, i), first_draw_index(i))));
  }
}

void Vit::add_head() {
  const std::int64_t dim = config_.embed_dim;
  if (config_.final_norm) {
    norm_ = register_module(has_fc_norm() ? "fc_norm" : "norm",
                            std::make_shared<nn::LayerNorm>(dim, VitBlock::kNormEps));
  }
  head_drop_ = register_module("head_drop", std::make_shared<nn::Dropout>(config_.drop_rate, 1));
  head_ =
      register_module("head", std::make_shared<nn::Head>(dim, config_.num_classes, config_.head));
  if (!config_.distilled) return;
  head_dist_drop_ = register_module(
      "head_dist_drop",
      std::make_shared<nn::Dropout>(config_.drop_rate, first_draw_index(config_.depth)));
  head_dist_ = register_module("head_dist",
                               std::make_shared<nn::Head>(dim, config_.num_classes, config_.head));
}

std::int64_t Vit::num_prefix_tokens() const {
  return (config_.class_token ? 1 : 0) + config_.reg_tokens + (config_.distilled ? 1 : 0);
}

std::int64_t Vit::num_tokens(const nn::ImageSize& image) const {
  const nn::ImageSize grid = patch_proj_->output_size(image);
  return num_prefix_tokens() + grid.height * grid.width;
}

std::int64_t Vit::num_prefix_positions() const {
  return config_.no_embed_class ? 0 : num_prefix_tokens();
}

bool Vit::has_fc_norm() const {
  return config_.fc_norm.value_or(config_.global_pool != VitPool::kToken);
}

void Vit::check_size(std::int64_t height, std::int64_t width) const {
  if (config_.dynamic_img_size) {
    if (divides(config_.patch_size, height) && divides(config_.patch_size, width)) return;
    throw base::ConfigError(
        fmt::format("model.patch_size: this ViT takes images whose sides are multiples of {} "
                    "pixels, got {}x{}: "
                    "set data.image_size to such a size",
                    config_.patch_size, height, width));
  }
  if (height == config_.img_size.height() && width == config_.img_size.width()) return;
  throw base::ConfigError(fmt::format(
      "model.img_size: this ViT takes images of {}x{} pixels, got {}x{}: set model.img_size to "
      "what "
      "the transforms leave, or data.image_size={} where data.*_transforms are the usual ones; "
      "model.dynamic_img_size=true takes images of any size",
      config_.img_size.height(), config_.img_size.width(), height, width,
      config_.img_size.to_string()));
}

at::Tensor Vit::with_prefix(const at::Tensor& patches) const {
  std::vector<at::Tensor> tokens;
  for (const at::Tensor& token : {cls_token_, reg_token_, dist_token_}) {
    if (token.defined()) tokens.push_back(token.expand({patches.size(0), -1, -1}));
  }
  if (tokens.empty()) return patches;
  tokens.push_back(patches);
  return at::cat(tokens, 1);
}

at::Tensor Vit::embed(const at::Tensor& images, const nn::ForwardContext& context) const {
  const at::Tensor features = patch_proj_->forward(images);
  const at::Tensor positions = resample_positions(pos_embed_, num_prefix_positions(), grid_,
                                                  {features.size(2), features.size(3)});
  const at::Tensor patches = features.flatten(2).transpose(1, 2);
  const at::Tensor tokens =
      config_.no_embed_class ? with_prefix(patches + positions) : with_prefix(patches) + positions;
  const at::Tensor rows = tokens.contiguous().view({-1, config_.embed_dim});
  const at::Tensor dropped = pos_drop_->forward(rows, images.size(0), context);
  return norm_pre_ ? norm_pre_->forward(dropped) : dropped;
}

at::Tensor Vit::pool(const at::Tensor& x) const {
  if (config_.global_pool == VitPool::kToken) return x.select(1, 0);
  const at::Tensor patches = x.slice(1, num_prefix_tokens());
  if (config_.global_pool == VitPool::kAvg) return patches.mean(1);
  if (config_.global_pool == VitPool::kMax) return patches.amax(1);
  return 0.5 * (patches.amax(1) + patches.mean(1));
}

at::Tensor Vit::classify(const at::Tensor& x, const nn::ForwardContext& context) const {
  const std::int64_t batch = x.size(0);
  if (config_.distilled) {
    const at::Tensor both = normalize(x.slice(1, 0, 2));
    const at::Tensor classes = head_drop_->forward(both.select(1, 0), batch, context);
    const at::Tensor distilled = head_dist_drop_->forward(both.select(1, 1), batch, context);
    return (head_->forward(classes) + head_dist_->forward(distilled)) / 2;
  }
  // Tokens are normalised one by one, so only the class token need be.
  const bool pools_first = has_fc_norm() || config_.global_pool == VitPool::kToken;
  const at::Tensor pooled = pools_first ? normalize(pool(x)) : pool(normalize(x));
  return head_->forward(head_drop_->forward(pooled, batch, context));
}

at::Tensor Vit::forward_images(const at::Tensor& images, const nn::ForwardContext& context) {
  check_size(images.size(2), images.size(3));
  const std::int64_t batch = images.size(0);
  const std::int64_t tokens = num_tokens({images.size(2), images.size(3)});
  at::Tensor x = embed(images, context);
  for (const auto& block : blocks_) x = block->forward(x, {batch, tokens}, context);
  return classify(x.view({batch, tokens, config_.embed_dim}), context);
}

void Vit::initialize_parameter(const nn::NamedTensor& parameter, const tensor::DrawKey& key) const {
  if (head_->initialize_mlp("head", parameter, key)) return;
  if (head_dist_ && head_dist_->initialize_mlp("head_dist", parameter, key)) return;
  initialize_vit_parameter(config_, patch_proj_->weight, parameter, key);
}

void Vit::count_image(nn::ImageSize size, nn::LayerCosts& costs) const {
  check_size(size.height, size.width);
  const std::int64_t tokens = num_tokens(size);
  patch_proj_->count(size, costs);
  for (const auto& block : blocks_) block->count(tokens, costs);
  head_->count(costs);
  if (head_dist_) head_dist_->count(costs);
}

std::vector<std::string> Vit::head_names() const {
  if (head_dist_) return {"head", "head_dist"};
  return {"head"};
}

std::vector<std::string> Vit::stem_names() const {
  return {"patch_embed", "cls_token", "reg_token", "dist_token", "pos_embed", "norm_pre"};
}

std::vector<std::vector<std::string>> Vit::layer_names() const {
  std::vector<std::vector<std::string>> layers{stem_names()};
  for (std::size_t i = 0; i < blocks_.size(); ++i) layers.push_back({fmt::format("blocks.{}", i)});
  layers.back().emplace_back("norm");
  layers.push_back(head_names());
  layers.back().emplace_back("fc_norm");
  return layers;
}

std::optional<tensor::Adaptation> Vit::adapt_stored(const std::string& name,
                                                    std::span<const std::int64_t> stored) const {
  if (name == "pos_embed")
    return adapt_positions(stored, {num_prefix_positions(), grid_, config_.embed_dim});
  if (name == "patch_embed.proj.weight")
    return adapt_patch_weight(stored, patch_proj_->weight.sizes());
  return std::nullopt;
}

std::unique_ptr<nn::Network> make(const VitConfig& config) { return std::make_unique<Vit>(config); }

}  // namespace paceline::models

void paceline::config::Schema<paceline::models::VitConfig>::validate(const T& config,
                                                                     Problems& problems) {
  const auto& sides = config.img_size.lengths;
  if (sides.size() > 2)
    problems.add("img_size", fmt::format("must be one side or [height, width], got {}",
                                         config.img_size.to_string()));
  for (const int side : sides) {
    if (models::divides(config.patch_size, side)) continue;
    problems.add("img_size", fmt::format("must be a multiple of patch_size ({}), got {}",
                                         config.patch_size, config.img_size.to_string()));
    break;
  }
  if (!models::divides(config.num_heads, config.embed_dim)) {
    problems.add("embed_dim", fmt::format("must be a multiple of num_heads ({}), got {}",
                                          config.num_heads, config.embed_dim));
  }
  const bool sees_token = config.distilled || config.global_pool == models::VitPool::kToken;
  if (sees_token && !config.class_token) {
    problems.add("class_token",
                 "must be true where the head sees that token, or take global_pool: avg");
  }
  if (!config.distilled) return;
  if (config.global_pool != models::VitPool::kToken)
    problems.add("global_pool", "must be token with distilled: the two heads see a token each");
  if (config.reg_tokens > 0)
    problems.add("reg_tokens", "must be 0 with distilled, as timm has no model with both");
  if (config.no_embed_class)
    problems.add("no_embed_class", "must be false with distilled, as timm has no model with both");
  if (config.fc_norm.value_or(false))
    problems.add("fc_norm", "must not be true with distilled, whose heads see two tokens");
}
