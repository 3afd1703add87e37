#pragma once

#include "paceline/models/vit/vit_block.h"
#include "paceline/nn/conv.h"
#include "paceline/nn/image_network.h"

#include <cstdint>
#include <memory>
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
class Vit : public nn::ImageNetwork {
 public:
  /// Throws ConfigError when sizes do not divide.
  explicit Vit(const VitConfig& config);

  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext& context) override;
  void initialize_parameter(const nn::NamedTensor& parameter,
                            const tensor::DrawKey& key) const override;
  /// The position embedding fixes the size: throws ConfigError for another than img_size.
  double flops_per_image(std::int64_t height, std::int64_t width) const override;
  std::string head_name() const override { return "head"; }
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

}  // namespace paceline::models
