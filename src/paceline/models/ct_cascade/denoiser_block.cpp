#include "paceline/models/ct_cascade/denoiser_block.h"

#include "paceline/models/ct_cascade/fused_denoiser_block.h"
#include "paceline/models/ct_cascade/modulation.h"
#include "paceline/nn/matmul.h"

namespace paceline::models {
namespace {

constexpr std::int64_t kMlpRatio = 4;
constexpr std::int64_t kNumModulations = 9;  // shift, scale and gate of three branches

}  // namespace

XrayKeysValues::XrayKeysValues(std::int64_t xray_dim, std::int64_t dim)
    : weight_(register_parameter("weight", at::empty({2 * dim, xray_dim}))) {}

at::Tensor XrayKeysValues::forward(const at::Tensor& tokens) const {
  return run(tokens, [this](const at::Tensor& x) { return nn::linear(x, weight_, {}); });
}

void XrayKeysValues::count(std::int64_t tokens, nn::LayerCosts& costs) const {
  costs.add(*this, 2.0 * static_cast<double>(tokens * weight_.numel()), {tokens, weight_.size(0)});
}

DenoiserBlock::DenoiserBlock(const DenoiserBlockConfig& config) : config_(config) {
  const std::int64_t dim = config.dim;
  modulation_ =
      register_module("modulation", std::make_shared<nn::Linear>(dim, kNumModulations * dim));
  attn_ = register_module("attn", std::make_shared<torch::nn::Module>());
  qkv_ = attn_->register_module("qkv", std::make_shared<nn::Linear>(dim, 3 * dim, false));
  proj_ = attn_->register_module("proj", std::make_shared<nn::Linear>(dim, dim));
  cross_ = register_module("cross", std::make_shared<torch::nn::Module>());
  query_ = cross_->register_module("q", std::make_shared<nn::Linear>(dim, dim, false));
  cross_proj_ = cross_->register_module("proj", std::make_shared<nn::Linear>(dim, dim));
  const auto mlp = register_module("mlp", std::make_shared<torch::nn::Module>());
  fc1_ = mlp->register_module("fc1", std::make_shared<nn::Linear>(dim, kMlpRatio * dim));
  fc2_ = mlp->register_module("fc2", std::make_shared<nn::Linear>(kMlpRatio * dim, dim));
  weights_ = {modulation_->weight, modulation_->bias, qkv_->weight,        proj_->weight,
              proj_->bias,         query_->weight,    cross_proj_->weight, cross_proj_->bias,
              fc1_->weight,        fc1_->bias,        fc2_->weight,        fc2_->bias};
}

at::Tensor DenoiserBlock::forward(const at::Tensor& x, const at::Tensor& condition,
                                  const at::Tensor& keys_values, const DenoiserShape& shape) const {
  return run_with({x, condition, keys_values}, [=, this](const nn::UnitWrapper::Inputs& inputs) {
    return compute(inputs[0], inputs[1], inputs[2], shape);
  });
}

std::optional<at::ScalarType> DenoiserBlock::possible_dtype(const at::Tensor& x,
                                                            const at::Tensor& condition,
                                                            const at::Tensor& keys_values) const {
  for (const auto& linear : {modulation_, qkv_, proj_, query_, cross_proj_, fc1_, fc2_}) {
    if (linear->to_latent()) return std::nullopt;
  }
  return fused_denoiser_block_dtype({x, condition, keys_values}, weights_);
}

at::Tensor DenoiserBlock::compute(const at::Tensor& x, const at::Tensor& condition,
                                  const at::Tensor& keys_values, const DenoiserShape& shape) const {
  const auto dtype = choose_fused(config_.fused, possible_dtype(x, condition, keys_values));
  if (!dtype) return by_operations(x, condition, keys_values, shape);
  return fused_denoiser_block({x, condition, keys_values}, weights_,
                              {shape, config_.num_heads, kNormEps, *dtype});
}

at::Tensor DenoiserBlock::by_operations(const at::Tensor& x, const at::Tensor& condition,
                                        const at::Tensor& keys_values,
                                        const DenoiserShape& shape) const {
  const std::vector<at::Tensor> m = modulation_->forward(condition).chunk(kNumModulations, 1);
  const auto normed = [&](const at::Tensor& rows, std::size_t branch) {
    return modulated_norm(rows, m[3 * branch], m[3 * branch + 1], kNormEps);
  };
  at::Tensor y = x + scaled_by_sample(self_attention(normed(x, 0), shape), m[2]);
  y = y + scaled_by_sample(cross_attention(normed(y, 1), keys_values, shape), m[5]);
  return y + scaled_by_sample(mlp(normed(y, 2)), m[8]);
}

/// [batch * tokens, dim] to [batch, heads, tokens, head_dim].
at::Tensor DenoiserBlock::heads(const at::Tensor& rows, std::int64_t batch) const {
  return rows.view({batch, -1, config_.num_heads, config_.dim / config_.num_heads}).transpose(1, 2);
}

at::Tensor DenoiserBlock::self_attention(const at::Tensor& x, const DenoiserShape& shape) const {
  const std::vector<at::Tensor> qkv =
      qkv_->forward(x)
          .view({shape.batch, shape.tokens, 3, config_.num_heads, -1})
          .permute({2, 0, 3, 1, 4})
          .unbind(0);
  const at::Tensor mixed = nn::attention(qkv[0], qkv[1], qkv[2]);
  return proj_->forward(mixed.transpose(1, 2).reshape(x.sizes()));
}

at::Tensor DenoiserBlock::cross_attention(const at::Tensor& x, const at::Tensor& keys_values,
                                          const DenoiserShape& shape) const {
  const std::vector<at::Tensor> kv =
      keys_values.view({shape.batch, shape.xray_tokens, 2, config_.num_heads, -1})
          .permute({2, 0, 3, 1, 4})
          .unbind(0);
  const at::Tensor mixed = nn::attention(heads(query_->forward(x), shape.batch), kv[0], kv[1]);
  return cross_proj_->forward(mixed.transpose(1, 2).reshape(x.sizes()));
}

void DenoiserBlock::count(std::int64_t tokens, std::int64_t xray_tokens,
                          nn::LayerCosts& costs) const {
  const auto attention = [&](const torch::nn::Module& module, std::int64_t keys) {
    costs.add(module, 4.0 * static_cast<double>(tokens * keys * config_.dim),
              {tokens, config_.dim});
  };
  modulation_->count(costs);
  qkv_->count(tokens, costs);
  attention(*attn_, tokens);
  proj_->count(tokens, costs);
  query_->count(tokens, costs);
  attention(*cross_, xray_tokens);
  for (const auto& linear : {cross_proj_, fc1_, fc2_}) linear->count(tokens, costs);
}

}  // namespace paceline::models
