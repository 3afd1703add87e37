#pragma once

#include "paceline/models/fields/fused_mode.h"
#include "paceline/nn/dropout.h"
#include "paceline/nn/layer_norm.h"
#include "paceline/nn/linear.h"
#include "paceline/nn/unit.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

namespace paceline::models {

/// Rows of a token matrix [batch * tokens, dim]: image by image, the class token first.
struct TokenShape {
  std::int64_t batch = 0;
  std::int64_t tokens = 0;
};

/// The parameters of a ViT block in registration order: weight and bias of norm1, attn.qkv,
/// attn.q_norm, attn.k_norm and attn.proj, ls1.gamma, weight and bias of norm2, mlp.fc1 and
/// mlp.fc2, ls2.gamma. For what a block has not there are tensors without elements.
using VitBlockWeights = std::array<at::Tensor, 18>;

/// What is multiplied by in training where a block drops: elements are 0 or 1 / (1 - rate).
/// Undefined where nothing is dropped.
struct VitBlockDrops {
  at::Tensor attention;  ///< [batch, heads, tokens, tokens], on the attention weights
  at::Tensor projected;  ///< [batch * tokens, dim], behind attn.proj
  at::Tensor path1;      ///< [batch, 1], on the branch of attention
  at::Tensor hidden;     ///< [batch * tokens, mlp_dim], behind the activation
  at::Tensor output;     ///< [batch * tokens, dim], behind mlp.fc2
  at::Tensor path2;      ///< [batch, 1], on the branch of the MLP
};

struct VitBlockConfig {
  std::int64_t dim = 0;
  std::int64_t num_heads = 0;
  std::int64_t mlp_dim = 0;
  bool qkv_bias = true;
  bool qk_norm = false;      ///< LayerNorm on queries and keys, head by head
  bool layer_scale = false;  ///< a learnt factor on each channel of the branches
  double proj_drop_rate = 0.0;
  double attn_drop_rate = 0.0;
  double drop_path_rate = 0.0;
  FusedMode fused = FusedMode::kAuto;
};

/// Pre-norm transformer block with timm's names (norm1, attn.qkv, attn.q_norm, attn.k_norm,
/// attn.proj, ls1, norm2, mlp.fc1, mlp.fc2, ls2), LayerNorm eps 1e-6, exact GELU. It uses six draw
/// indices from `first_draw_index` on. Paper of layer scale: Touvron et al., "Going deeper with
/// image transformers", 2021.
class VitBlock : public nn::Unit {
 public:
  static constexpr std::uint64_t kDrawIndices = 6;
  static constexpr double kNormEps = 1e-6;

  VitBlock(const VitBlockConfig& config, std::uint64_t first_draw_index);

  /// [batch * tokens, dim] to the same shape.
  at::Tensor forward(const at::Tensor& x, const TokenShape& shape,
                     const nn::ForwardContext& context) const;

  /// One image with that many tokens.
  void count(std::int64_t tokens, nn::LayerCosts& costs) const;

 private:
  void add_layers();
  void add_drops(std::uint64_t first_draw_index);
  at::Tensor add_scale(const char* name);
  VitBlockDrops draw(const at::TensorOptions& options, const TokenShape& shape,
                     const nn::ForwardContext& context) const;
  std::optional<at::ScalarType> possible_dtype(const at::Tensor& x) const;
  at::Tensor compute(const at::Tensor& x, const TokenShape& shape,
                     const nn::ForwardContext& context) const;
  at::Tensor attention(const at::Tensor& x, const TokenShape& shape,
                       const nn::ForwardContext& context) const;
  at::Tensor mlp(const at::Tensor& x, const TokenShape& shape,
                 const nn::ForwardContext& context) const;

  VitBlockConfig config_;
  std::shared_ptr<nn::LayerNorm> norm1_;
  std::shared_ptr<nn::Linear> qkv_;
  std::shared_ptr<nn::LayerNorm> query_norm_;  ///< null without qk_norm
  std::shared_ptr<nn::LayerNorm> key_norm_;    ///< null without qk_norm
  std::shared_ptr<nn::Linear> proj_;
  at::Tensor scale1_;  ///< undefined without layer scale
  std::shared_ptr<nn::LayerNorm> norm2_;
  std::shared_ptr<nn::Linear> fc1_;
  std::shared_ptr<nn::Linear> fc2_;
  at::Tensor scale2_;  ///< undefined without layer scale
  std::shared_ptr<nn::Dropout> attn_drop_;
  std::shared_ptr<torch::nn::Module> attn_;
  std::shared_ptr<nn::Dropout> proj_drop_;
  std::shared_ptr<nn::Dropout> mlp_drop1_;
  std::shared_ptr<nn::Dropout> mlp_drop2_;
  std::shared_ptr<nn::DropPath> drop_path1_;
  std::shared_ptr<nn::DropPath> drop_path2_;
  VitBlockWeights weights_;  ///< the layers' own tensors, unless they have factors
};

}  // namespace paceline::models
