#pragma once

#include "paceline/nn/dropout.h"
#include "paceline/nn/layer_norm.h"
#include "paceline/nn/linear.h"
#include "paceline/nn/unit.h"

#include <array>
#include <cstdint>
#include <memory>

namespace paceline::models {

/// When a ViT block runs as one autograd node instead of one per operation.
enum class FusedMode {
  kAuto,  ///< where it applies: CPU, float32 or float64, no active dropout or drop path, no
          ///< autocast, no activation checkpoint that keeps matmuls
  kOn,    ///< always; ConfigError where it does not apply
  kOff,
};

/// Rows of a token matrix [batch * tokens, dim]: image by image, the class token first.
struct TokenShape {
  std::int64_t batch = 0;
  std::int64_t tokens = 0;
};

/// The parameters of a ViT block in registration order: weight and bias of norm1, attn.qkv,
/// attn.proj, norm2, mlp.fc1 and mlp.fc2.
using VitBlockWeights = std::array<at::Tensor, 12>;

struct VitBlockConfig {
  std::int64_t dim = 0;
  std::int64_t num_heads = 0;
  std::int64_t mlp_dim = 0;
  double proj_drop_rate = 0.0;
  double attn_drop_rate = 0.0;
  double drop_path_rate = 0.0;
  FusedMode fused = FusedMode::kAuto;
};

/// Pre-norm transformer block with timm's names (norm1, attn.qkv, attn.proj, norm2, mlp.fc1,
/// mlp.fc2), LayerNorm eps 1e-6, exact GELU. It uses six draw indices from `first_draw_index` on.
class VitBlock : public nn::Unit {
 public:
  static constexpr std::uint64_t kDrawIndices = 6;

  VitBlock(const VitBlockConfig& config, std::uint64_t first_draw_index);

  /// [batch * tokens, dim] to the same shape.
  at::Tensor forward(const at::Tensor& x, const TokenShape& shape,
                     const nn::ForwardContext& context) const;

  /// One image with that many tokens.
  void count(std::int64_t tokens, nn::LayerCosts& costs) const;

 private:
  bool drops() const;
  bool runs_fused(const at::Tensor& x) const;
  at::Tensor compute(const at::Tensor& x, const TokenShape& shape,
                     const nn::ForwardContext& context) const;
  at::Tensor attention(const at::Tensor& x, const TokenShape& shape,
                       const nn::ForwardContext& context) const;
  at::Tensor mlp(const at::Tensor& x, const TokenShape& shape,
                 const nn::ForwardContext& context) const;

  VitBlockConfig config_;
  std::shared_ptr<nn::LayerNorm> norm1_;
  std::shared_ptr<nn::Linear> qkv_;
  std::shared_ptr<nn::Linear> proj_;
  std::shared_ptr<nn::LayerNorm> norm2_;
  std::shared_ptr<nn::Linear> fc1_;
  std::shared_ptr<nn::Linear> fc2_;
  std::shared_ptr<nn::Dropout> attn_drop_;
  std::shared_ptr<torch::nn::Module> attn_;
  std::shared_ptr<nn::Dropout> proj_drop_;
  std::shared_ptr<nn::Dropout> mlp_drop1_;
  std::shared_ptr<nn::Dropout> mlp_drop2_;
  std::shared_ptr<nn::DropPath> drop_path1_;
  std::shared_ptr<nn::DropPath> drop_path2_;
  VitBlockWeights weights_;  ///< the layers' own tensors
};

}  // namespace paceline::models
