#include "paceline/models/vit/vit_block.h"

#include "paceline/base/error.h"
#include "paceline/models/vit/fused_block.h"
#include "paceline/nn/matmul.h"
#include "paceline/nn/rerun.h"

#include <cmath>

namespace paceline::models {
namespace {

constexpr double kEps = 1e-6;

}  // namespace

VitBlock::VitBlock(const VitBlockConfig& config, std::uint64_t first_draw_index) : config_(config) {
  const std::int64_t dim = config.dim;
  norm1_ = register_module("norm1", std::make_shared<nn::LayerNorm>(dim, kEps));
  attn_ = register_module("attn", std::make_shared<torch::nn::Module>());
  qkv_ = attn_->register_module("qkv", std::make_shared<nn::Linear>(dim, 3 * dim));
  proj_ = attn_->register_module("proj", std::make_shared<nn::Linear>(dim, dim));
  norm2_ = register_module("norm2", std::make_shared<nn::LayerNorm>(dim, kEps));
  const auto mlp = register_module("mlp", std::make_shared<torch::nn::Module>());
  fc1_ = mlp->register_module("fc1", std::make_shared<nn::Linear>(dim, config.mlp_dim));
  fc2_ = mlp->register_module("fc2", std::make_shared<nn::Linear>(config.mlp_dim, dim));

  std::uint64_t index = first_draw_index;
  const auto dropout = [&](const char* name, double rate) {
    return register_module(name, std::make_shared<nn::Dropout>(rate, index++));
  };
  const auto drop_path = [&](const char* name) {
    return register_module(name, std::make_shared<nn::DropPath>(config.drop_path_rate, index++));
  };
  attn_drop_ = dropout("attn_drop", config.attn_drop_rate);
  proj_drop_ = dropout("proj_drop", config.proj_drop_rate);
  drop_path1_ = drop_path("drop_path1");
  mlp_drop1_ = dropout("mlp_drop1", config.proj_drop_rate);
  mlp_drop2_ = dropout("mlp_drop2", config.proj_drop_rate);
  drop_path2_ = drop_path("drop_path2");
  weights_ = {norm1_->weight, norm1_->bias, qkv_->weight, qkv_->bias, proj_->weight, proj_->bias,
              norm2_->weight, norm2_->bias, fc1_->weight, fc1_->bias, fc2_->weight,  fc2_->bias};
}

at::Tensor VitBlock::forward(const at::Tensor& x, const TokenShape& shape,
                             const nn::ForwardContext& context) const {
  return run(x, [=, this](const at::Tensor& input) { return compute(input, shape, context); });
}

at::Tensor VitBlock::compute(const at::Tensor& x, const TokenShape& shape,
                             const nn::ForwardContext& context) const {
  if (runs_fused(x)) return fused_vit_block(x, weights_, shape, config_.num_heads, kEps);
  const at::Tensor attended = attention(norm1_->forward(x), shape, context);
  const at::Tensor y = x + drop_path1_->forward(attended, shape.batch, context);
  return y + drop_path2_->forward(mlp(norm2_->forward(y), shape, context), shape.batch, context);
}

bool VitBlock::drops() const {
  return attn_drop_->is_active() || proj_drop_->is_active() || drop_path1_->is_active();
}

bool VitBlock::runs_fused(const at::Tensor& x) const {
  if (config_.fused == FusedMode::kOff) return false;
  const bool fits = !drops() && can_fuse_vit_block(x, weights_);
  const bool keeps_matmuls = nn::Rerun::keeps_matmuls();  // which a block of one node cannot
  if (config_.fused == FusedMode::kOn && keeps_matmuls) {
    throw base::ConfigError(
        "fused: on does not go with train.activation_checkpointing.keep: matmuls: use fused: auto");
  }
  if (!fits && config_.fused == FusedMode::kOn) {
    throw base::ConfigError(
        "fused: on needs tensors on the CPU in float32 or float64, no dropout or drop path and no "
        "autocast: use fused: auto");
  }
  return fits && !keeps_matmuls;
}

at::Tensor VitBlock::attention(const at::Tensor& x, const TokenShape& shape,
                               const nn::ForwardContext& context) const {
  const std::int64_t head_dim = config_.dim / config_.num_heads;
  const std::vector<at::Tensor> qkv =
      qkv_->forward(x)
          .view({shape.batch, shape.tokens, 3, config_.num_heads, head_dim})
          .permute({2, 0, 3, 1, 4})
          .unbind(0);
  at::Tensor mixed;  // [batch, heads, tokens, head_dim]
  if (attn_drop_->is_active()) {
    // scaled_dot_product_attention would draw from LibTorch's default generator.
    const double scale = 1.0 / std::sqrt(static_cast<double>(head_dim));
    const at::Tensor weights = at::softmax(at::matmul(qkv[0] * scale, qkv[1].transpose(2, 3)), -1);
    mixed = at::matmul(attn_drop_->forward(weights, shape.batch, context), qkv[2]);
  } else {
    mixed = nn::attention(qkv[0], qkv[1], qkv[2]);
  }
  const at::Tensor output = proj_->forward(mixed.transpose(1, 2).reshape(x.sizes()));
  return proj_drop_->forward(output, shape.batch, context);
}

at::Tensor VitBlock::mlp(const at::Tensor& x, const TokenShape& shape,
                         const nn::ForwardContext& context) const {
  const at::Tensor hidden = mlp_drop1_->forward(at::gelu(fc1_->forward(x)), shape.batch, context);
  return mlp_drop2_->forward(fc2_->forward(hidden), shape.batch, context);
}

void VitBlock::count(std::int64_t tokens, nn::LayerCosts& costs) const {
  qkv_->count(tokens, costs);
  const auto n = static_cast<double>(tokens);
  costs.add(*attn_, 4.0 * n * n * static_cast<double>(config_.dim),  // QKᵀ and its product with V
            {tokens, config_.dim});
  for (const auto& linear : {proj_, fc1_, fc2_}) linear->count(tokens, costs);
}

}  // namespace paceline::models
