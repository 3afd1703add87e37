#pragma once

#include "paceline/config/schema.h"
#include "paceline/models/vit/vit_block.h"
#include "paceline/nn/conv.h"
#include "paceline/nn/image_network.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::models {

/// timm's names and defaults. A named ViT is one with defaults of its own.
struct VitConfig {
  std::int64_t num_classes = 1000;
  std::int64_t img_size = 224;  ///< height and width in pixels, a multiple of the patch
  std::int64_t patch_size = 16;
  std::int64_t embed_dim = 192;
  std::int64_t depth = 12;
  std::int64_t num_heads = 3;
  double mlp_ratio = 4.0;
  double drop_rate = 0.0;       ///< before the head
  double pos_drop_rate = 0.0;   ///< after the position embedding
  double proj_drop_rate = 0.0;  ///< after the block's linear layers
  double attn_drop_rate = 0.0;  ///< on the attention weights
  double drop_path_rate = 0.0;  ///< of the last block; grows linearly from 0 at the first
  FusedMode fused = FusedMode::kAuto;
};

/// Vision transformer with a class token, timm's names, initialisation and numbers. Images are
/// [N, 3, img_size, img_size].
/// Paper: Dosovitskiy et al., "An image is worth 16x16 words", 2021.
class Vit : public nn::CountedImageNetwork {
 public:
  /// Throws ConfigError when sizes do not divide.
  explicit Vit(const VitConfig& config);

  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext& context) override;
  void initialize_parameter(const nn::NamedTensor& parameter,
                            const tensor::DrawKey& key) const override;
  /// The position embedding fixes the size: throws ConfigError for another than img_size.
  void count_image(nn::ImageSize size, nn::LayerCosts& costs) const override;
  nn::ImageSize usual_size() const override { return {config_.img_size, config_.img_size}; }
  std::vector<std::string> head_names() const override { return {"head"}; }
  std::vector<std::string> stem_names() const override {
    return {"patch_embed", "cls_token", "pos_embed"};
  }

 private:
  void check_size(std::int64_t height, std::int64_t width) const;
  at::Tensor embed(const at::Tensor& images, const nn::ForwardContext& context) const;

  VitConfig config_;
  std::int64_t tokens_;  ///< patches and the class token
  at::Tensor cls_token_;
  at::Tensor pos_embed_;
  std::shared_ptr<nn::Conv2d> patch_proj_;
  std::shared_ptr<nn::Dropout> pos_drop_;
  std::vector<std::shared_ptr<VitBlock>> blocks_;
  std::shared_ptr<nn::LayerNorm> norm_;
  std::shared_ptr<nn::Dropout> head_drop_;
  std::shared_ptr<nn::Linear> head_;
};

std::unique_ptr<nn::Network> make(const VitConfig& config);

}  // namespace paceline::models

template <>
struct paceline::config::EnumNames<paceline::models::FusedMode> {
  static constexpr std::array names{
      EnumName{paceline::models::FusedMode::kAuto, "auto"},
      EnumName{paceline::models::FusedMode::kOn, "on"},
      EnumName{paceline::models::FusedMode::kOff, "off"},
  };
};

template <>
struct paceline::config::Schema<paceline::models::VitConfig> {
  using T = paceline::models::VitConfig;
  static constexpr std::string_view name = "vit";
  static constexpr std::string_view summary = "Vision transformer of any size.";
  static constexpr std::string_view paper =
      "Dosovitskiy et al., An image is worth 16x16 words, 2021";
  static constexpr auto fields = std::tuple{
      field(&T::num_classes, "num_classes", "Outputs of the classifier.", AtLeast{1},
            AtMost{10'000'000, "no classifier has more outputs"}),
      field(&T::img_size, "img_size", "Height and width of the images in pixels.", AtLeast{1},
            AtMost{16384, "no image has a longer side"}),
      field(&T::patch_size, "patch_size", "Height and width of a patch in pixels.", AtLeast{1},
            AtMost{16384, "no image has a longer side"}),
      field(&T::embed_dim, "embed_dim", "Width of a token.", AtLeast{1},
            AtMost{65536, "no model is wider"}),
      field(&T::depth, "depth", "Number of blocks.", AtLeast{1},
            AtMost{1000, "no model is deeper"}),
      field(&T::num_heads, "num_heads", "Attention heads per block.", AtLeast{1},
            AtMost{65536, "no model is wider"}),
      field(&T::mlp_ratio, "mlp_ratio", "Width of the MLP's hidden layer / embed_dim.", MoreThan{0},
            AtMost{1000, "no model is wider"}),
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
      field(&T::fused, "fused",
            "Run a block as one autograd node: auto (where it applies), on or off.",
            MayChangeOnResume{})};
  static void validate(const T& config, Problems& problems);
};
