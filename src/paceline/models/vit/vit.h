#pragma once

#include "paceline/config/schema.h"
#include "paceline/models/fields/classifier_fields.h"
#include "paceline/models/vit/vit_block.h"
#include "paceline/nn/blocks/head.h"
#include "paceline/nn/conv.h"
#include "paceline/nn/image_network.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::models {

/// What the head sees of the last block's tokens: the class token, or the patches' mean, largest
/// values, or the mean of these two.
enum class VitPool { kToken, kAvg, kMax, kAvgMax };

/// How a new ViT draws its weights, as timm's weight_init says.
enum class VitInit {
  kTimm,     ///< truncated normal, deviation 0.02
  kJax,      ///< Xavier, a head of zeros
  kJaxNlhb,  ///< the same, and -log(num_classes) for the head's bias
  kMoco,     ///< Xavier, with queries, keys and values each a matrix of its own
};

/// timm's names and defaults. A named ViT is one with defaults of its own.
struct VitConfig {
  std::int64_t num_classes = 1000;
  nn::HeadKind head = nn::HeadKind::kLinear;
  std::int64_t in_channels = 3;
  config::Sides img_size = 224;  ///< in pixels, multiples of the patch
  std::int64_t patch_size = 16;
  std::int64_t embed_dim = 192;
  std::int64_t depth = 12;
  std::int64_t num_heads = 3;
  double mlp_ratio = 4.0;
  bool qkv_bias = true;
  bool qk_norm = false;
  std::optional<double> init_values = std::nullopt;  ///< of layer scale; none: no layer scale
  bool class_token = true;
  std::int64_t reg_tokens = 0;
  bool no_embed_class = false;  ///< positions for the patches alone
  bool distilled = false;       ///< DeiT's second token and head
  VitPool global_pool = VitPool::kToken;
  bool pre_norm = false;
  bool final_norm = true;
  std::optional<bool> fc_norm = std::nullopt;  ///< none: unless global_pool is the token
  bool dynamic_img_size = false;
  VitInit weight_init = VitInit::kTimm;
  double drop_rate = 0.0;       ///< before the head
  double pos_drop_rate = 0.0;   ///< after the position embedding
  double proj_drop_rate = 0.0;  ///< after the block's linear layers
  double attn_drop_rate = 0.0;  ///< on the attention weights
  double drop_path_rate = 0.0;  ///< of the last block; grows linearly from 0 at the first
  FusedMode fused = FusedMode::kAuto;
};

/// Vision transformer with timm's names, initialisation and numbers. Images are
/// [N, in_channels, height, width] of img_size or, with dynamic_img_size, any multiple of the
/// patch. Papers: Dosovitskiy et al., "An image is worth 16x16 words", 2021; Touvron et al.,
/// "Training data-efficient image transformers & distillation through attention", 2021 (DeiT);
/// Darcet et al., "Vision transformers need registers", 2024.
class Vit : public nn::CountedImageNetwork {
 public:
  /// Throws ConfigError when sizes do not divide or options contradict each other.
  explicit Vit(const VitConfig& config);

  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext& context) override;
  void initialize_parameter(const nn::NamedTensor& parameter,
                            const tensor::DrawKey& key) const override;
  std::optional<std::int64_t> in_channels() const override { return config_.in_channels; }
  void count_image(nn::ImageSize size, nn::LayerCosts& costs) const override;
  nn::ImageSize usual_size() const override {
    return {config_.img_size.height(), config_.img_size.width()};
  }
  bool gives_features() const override { return head_->kind() == nn::HeadKind::kNone; }
  std::vector<std::string> head_names() const override;
  std::vector<std::string> stem_names() const override;
  /// As timm's: the last norm is of the last block's layer if it comes before pooling, else of the
  /// head's.
  std::vector<std::vector<std::string>> layer_names() const override;
  /// Position embeddings of another grid and patch embeddings of another patch are resampled.
  std::optional<tensor::Adaptation> adapt_stored(
      const std::string& name, std::span<const std::int64_t> stored) const override;

 private:
  void add_embedding();
  void add_blocks();
  void add_head();
  void check_size(std::int64_t height, std::int64_t width) const;
  std::int64_t num_prefix_tokens() const;
  std::int64_t num_tokens(const nn::ImageSize& image) const;
  std::int64_t num_prefix_positions() const;
  bool has_fc_norm() const;
  at::Tensor with_prefix(const at::Tensor& patches) const;
  at::Tensor embed(const at::Tensor& images, const nn::ForwardContext& context) const;
  at::Tensor pool(const at::Tensor& x) const;
  at::Tensor normalize(const at::Tensor& x) const { return norm_ ? norm_->forward(x) : x; }
  at::Tensor classify(const at::Tensor& x, const nn::ForwardContext& context) const;

  VitConfig config_;
  nn::ImageSize grid_;     ///< patches of an image of img_size
  at::Tensor cls_token_;   ///< undefined without class_token
  at::Tensor reg_token_;   ///< undefined without reg_tokens
  at::Tensor dist_token_;  ///< undefined unless distilled
  at::Tensor pos_embed_;
  std::shared_ptr<nn::Conv2d> patch_proj_;
  std::shared_ptr<nn::Dropout> pos_drop_;
  std::shared_ptr<nn::LayerNorm> norm_pre_;  ///< null without pre_norm
  std::vector<std::shared_ptr<VitBlock>> blocks_;
  std::shared_ptr<nn::LayerNorm> norm_;  ///< `norm` or `fc_norm`; null without final_norm
  std::shared_ptr<nn::Dropout> head_drop_;
  std::shared_ptr<nn::Head> head_;
  std::shared_ptr<nn::Dropout> head_dist_drop_;  ///< null unless distilled
  std::shared_ptr<nn::Head> head_dist_;          ///< null unless distilled
};

std::unique_ptr<nn::Network> make(const VitConfig& config);

}  // namespace paceline::models

template <>
struct paceline::config::EnumNames<paceline::models::VitPool> {
  static constexpr std::array names{
      EnumName{paceline::models::VitPool::kToken, "token"},
      EnumName{paceline::models::VitPool::kAvg, "avg"},
      EnumName{paceline::models::VitPool::kMax, "max"},
      EnumName{paceline::models::VitPool::kAvgMax, "avgmax"},
  };
};

template <>
struct paceline::config::EnumNames<paceline::models::VitInit> {
  static constexpr std::array names{
      EnumName{paceline::models::VitInit::kTimm, "timm"},
      EnumName{paceline::models::VitInit::kJax, "jax"},
      EnumName{paceline::models::VitInit::kJaxNlhb, "jax_nlhb"},
      EnumName{paceline::models::VitInit::kMoco, "moco"},
  };
};

template <>
struct paceline::config::Schema<paceline::models::VitConfig> {
  using T = paceline::models::VitConfig;
  static constexpr std::string_view name = "vit";
  static constexpr std::string_view summary = "Vision transformer of any size.";
  static constexpr std::string_view paper =
      "Dosovitskiy et al., An image is worth 16x16 words, 2021";
  static constexpr auto fields = std::tuple_cat(
      models::classifier_fields<T>(),
      std::tuple{
          field(&T::img_size, "img_size",
                "Side of the images in pixels, or [height, width]; multiples of the patch.",
                AtLeast{1}, AtMost{16384, "no image has a longer side"}),
          field(&T::patch_size, "patch_size", "Height and width of a patch in pixels.", AtLeast{1},
                AtMost{16384, "no image has a longer side"}),
          field(&T::embed_dim, "embed_dim", "Width of a token.", AtLeast{1},
                AtMost{65536, "no model is wider"}),
          field(&T::depth, "depth", "Number of blocks.", AtLeast{1},
                AtMost{1000, "no model is deeper"}),
          field(&T::num_heads, "num_heads", "Attention heads per block.", AtLeast{1},
                AtMost{65536, "no model is wider"}),
          field(&T::mlp_ratio, "mlp_ratio", "Width of the MLP's hidden layer / embed_dim.",
                MoreThan{0}, AtMost{1000, "no model is wider"}),
          field(&T::qkv_bias, "qkv_bias", "Biases of queries, keys and values."),
          field(&T::qk_norm, "qk_norm", "LayerNorm on queries and keys, head by head."),
          field(&T::init_values, "init_values",
                "What layer scale multiplies the blocks' branches by at first; null: no layer "
                "scale.",
                MoreThan{0}, AtMost{1, "layer scale starts small"}),
          field(&T::class_token, "class_token", "A token that stands for the image."),
          field(&T::reg_tokens, "reg_tokens", "Further tokens, which no head sees: registers.",
                AtLeast{0}, AtMost{1024, "no model has more"}),
          field(&T::no_embed_class, "no_embed_class",
                "Position embeddings for the patches alone, not for the tokens before them."),
          field(&T::distilled, "distilled",
                "DeiT's distillation token with a head of its own; the output is the mean of both "
                "heads'."),
          field(&T::global_pool, "global_pool",
                "What the head sees: the class token, or the patches' mean (avg), largest values "
                "(max), or the mean of these (avgmax)."),
          field(&T::pre_norm, "pre_norm",
                "LayerNorm before the first block; the patch embedding then has no bias."),
          field(&T::final_norm, "final_norm", "LayerNorm after the last block."),
          field(
              &T::fc_norm, "fc_norm",
              "The last LayerNorm comes after pooling, named fc_norm, instead of before it; null: "
              "unless global_pool is token."),
          field(&T::dynamic_img_size, "dynamic_img_size",
                "Take images of any multiple of the patch, for which position embeddings are "
                "resampled."),
          field(&T::weight_init, "weight_init",
                "Initial weights by timm's words: timm is its default, the truncated normal."),
          field(&T::drop_rate, "drop_rate", "Dropout before the head.", InRange{0, 1},
                MayChangeOnResume{}),
          field(&T::pos_drop_rate, "pos_drop_rate", "Dropout after the position embedding.",
                InRange{0, 1}, MayChangeOnResume{}),
          field(&T::proj_drop_rate, "proj_drop_rate", "Dropout after the blocks' linear layers.",
                InRange{0, 1}, MayChangeOnResume{}),
          field(&T::attn_drop_rate, "attn_drop_rate", "Dropout on the attention weights.",
                InRange{0, 1}, MayChangeOnResume{}),
          field(&T::drop_path_rate, "drop_path_rate",
                "Stochastic depth: rate of the last block, growing linearly from 0 at the first.",
                InRange{0, 1}, MayChangeOnResume{}),
          models::fused_field<T>()});
  static void validate(const T& config, Problems& problems);
};
