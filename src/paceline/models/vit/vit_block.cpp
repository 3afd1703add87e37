#include "paceline/models/vit/vit_block.h"

#include "paceline/models/vit/fused_block.h"
#include "paceline/nn/matmul.h"

#include <cmath>

namespace paceline::models {
namespace {

/// Autograd takes no undefined tensors among a node's inputs.
at::Tensor or_empty(const at::Tensor& tensor) { return tensor.defined() ? tensor : at::empty({0}); }

}  // namespace

VitBlock::VitBlock(const VitBlockConfig& config, std::uint64_t first_draw_index) : config_(config) {
  add_layers();
  add_drops(first_draw_index);
  const auto of_norm = [](const std::shared_ptr<nn::LayerNorm>& norm) {
    return norm ? std::pair(norm->weight, norm->bias) : std::pair(at::empty({0}), at::empty({0}));
  };
  const auto [query_weight, query_bias] = of_norm(query_norm_);
  const auto [key_weight, key_bias] = of_norm(key_norm_);
  weights_ = {norm1_->weight, norm1_->bias,     qkv_->weight,      or_empty(qkv_->bias),
              query_weight,   query_bias,       key_weight,        key_bias,
              proj_->weight,  proj_->bias,      or_empty(scale1_), norm2_->weight,
              norm2_->bias,   fc1_->weight,     fc1_->bias,        fc2_->weight,
              fc2_->bias,     or_empty(scale2_)};
}

void VitBlock::add_layers() {
  const std::int64_t dim = config_.dim;
  norm1_ = register_module("norm1", std::make_shared<nn::LayerNorm>(dim, kNormEps));
  attn_ = register_module("attn", std::make_shared<torch::nn::Module>());
  qkv_ =
      attn_->register_module("qkv", std::make_shared<nn::Linear>(dim, 3 * dim, config_.qkv_bias));
  if (config_.qk_norm) {
    const auto norm = [&] {
      return std::make_shared<nn::LayerNorm>(dim / config_.num_heads, kNormEps);
    };
    query_norm_ = attn_->register_module("q_norm", norm());
    key_norm_ = attn_->register_module("k_norm", norm());
  }
  proj_ = attn_->register_module("proj", std::make_shared<nn::Linear>(dim, dim));
  if (config_.layer_scale) scale1_ = add_scale("ls1");
  norm2_ = register_module("norm2", std::make_shared<nn::LayerNorm>(dim, kNormEps));
  const auto mlp = register_module("mlp", std::make_shared<torch::nn::Module>());
  fc1_ = mlp->register_module("fc1", std::make_shared<nn::Linear>(dim, config_.mlp_dim));
  fc2_ = mlp->register_module("fc2", std::make_shared<nn::Linear>(config_.mlp_dim, dim));
  if (config_.layer_scale) scale2_ = add_scale("ls2");
}

at::Tensor VitBlock::add_scale(const char* name) {
  const auto scale = register_module(name, std::make_shared<torch::nn::Module>());
  return scale->register_parameter("gamma", at::empty({config_.dim}));
}

void VitBlock::add_drops(std::uint64_t first_draw_index) {
  std::uint64_t index = first_draw_index;
  const auto dropout = [&](const char* name, double rate) {
    return register_module(name, std::make_shared<nn::Dropout>(rate, index++));
  };
  const auto drop_path = [&](const char* name) {
    return register_module(name, std::make_shared<nn::DropPath>(config_.drop_path_rate, index++));
  };
  attn_drop_ = dropout("attn_drop", config_.attn_drop_rate);
  proj_drop_ = dropout("proj_drop", config_.proj_drop_rate);
  drop_path1_ = drop_path("drop_path1");
  mlp_drop1_ = dropout("mlp_drop1", config_.proj_drop_rate);
  mlp_drop2_ = dropout("mlp_drop2", config_.proj_drop_rate);
  drop_path2_ = drop_path("drop_path2");
}

at::Tensor VitBlock::forward(const at::Tensor& x, const TokenShape& shape,
                             const nn::ForwardContext& context) const {
  return run(x, [=, this](const at::Tensor& input) { return compute(input, shape, context); });
}

std::optional<at::ScalarType> VitBlock::possible_dtype(const at::Tensor& x) const {
  for (const nn::Linear* const linear : {qkv_.get(), proj_.get(), fc1_.get(), fc2_.get()}) {
    if (linear->to_latent()) return std::nullopt;
  }
  return fused_vit_block_dtype(x, weights_);
}

at::Tensor VitBlock::compute(const at::Tensor& x, const TokenShape& shape,
                             const nn::ForwardContext& context) const {
  if (const auto dtype = choose_fused(config_.fused, possible_dtype(x))) {
    return fused_vit_block(x, weights_, draw(x.options().dtype(*dtype), shape, context),
                           {shape, config_.num_heads, kNormEps, *dtype});
  }
  at::Tensor branch = attention(norm1_->forward(x), shape, context);
  if (scale1_.defined()) branch = branch * scale1_;
  const at::Tensor y = x + drop_path1_->forward(branch, shape.batch, context);
  branch = mlp(norm2_->forward(y), shape, context);
  if (scale2_.defined()) branch = branch * scale2_;
  return y + drop_path2_->forward(branch, shape.batch, context);
}

VitBlockDrops VitBlock::draw(const at::TensorOptions& options, const TokenShape& shape,
                             const nn::ForwardContext& context) const {
  const std::int64_t batch = shape.batch;
  const std::int64_t rows = batch * shape.tokens;
  // Layer scale has its parameters' type, which its results then have, too.
  const at::TensorOptions of_branch = scale1_.defined() ? options.dtype(scale1_.dtype()) : options;
  return {attn_drop_->factors({batch, config_.num_heads, shape.tokens, shape.tokens}, options,
                              batch, context),
          proj_drop_->factors({rows, config_.dim}, options, batch, context),
          drop_path1_->factors(of_branch, batch, context),
          mlp_drop1_->factors({rows, config_.mlp_dim}, options, batch, context),
          mlp_drop2_->factors({rows, config_.dim}, options, batch, context),
          drop_path2_->factors(of_branch, batch, context)};
}

at::Tensor VitBlock::attention(const at::Tensor& x, const TokenShape& shape,
                               const nn::ForwardContext& context) const {
  const std::int64_t head_dim = config_.dim / config_.num_heads;
  std::vector<at::Tensor> qkv =
      qkv_->forward(x)
          .view({shape.batch, shape.tokens, 3, config_.num_heads, head_dim})
          .permute({2, 0, 3, 1, 4})
          .unbind(0);
  if (query_norm_) qkv[0] = query_norm_->forward(qkv[0]);
  if (key_norm_) qkv[1] = key_norm_->forward(qkv[1]);
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
