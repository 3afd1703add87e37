#pragma once

#include "paceline/models/fields/fused_mode.h"
#include "paceline/nn/linear.h"
#include "paceline/nn/unit.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

namespace paceline::models {

/// Rows of matrices of tokens: sample by sample.
struct DenoiserShape {
  std::int64_t batch = 0;
  std::int64_t tokens = 0;       ///< of the volume, for each sample
  std::int64_t xray_tokens = 0;  ///< that they attend to
};

/// The parameters of a block in registration order: weight and bias of modulation, attn.qkv.weight,
/// weight and bias of attn.proj, cross.q.weight, and weight and bias of cross.proj, mlp.fc1 and
/// mlp.fc2.
using DenoiserWeights = std::array<at::Tensor, 12>;

struct DenoiserBlockConfig {
  std::int64_t dim = 0;
  std::int64_t num_heads = 0;
  FusedMode fused = FusedMode::kAuto;
};

/// Keys and values of X-ray tokens for one block, without biases. A unit beside the block, so that
/// sampling computes them once for all steps. Names: weight [2 * dim, xray_dim].
class XrayKeysValues : public nn::Unit {
 public:
  XrayKeysValues(std::int64_t xray_dim, std::int64_t dim);

  /// [rows, xray_dim] to [rows, 2 * dim], the keys first.
  at::Tensor forward(const at::Tensor& tokens) const;
  void count(std::int64_t tokens, nn::LayerCosts& costs) const;

 private:
  at::Tensor weight_;
};

/// A transformer block of a diffusion (adaLN-zero): self-attention, attention to X-rays and an MLP
/// of 4 * dim with exact GELU, each behind a LayerNorm without parameters (eps 1e-6) that is
/// shifted and scaled, and gated before it is added; shifts, scales and gates are a linear layer's
/// of the condition and all 0 at first. Queries, keys and values have no biases. Paper: Peebles and
/// Xie, "Scalable diffusion models with transformers", 2023.
class DenoiserBlock : public nn::Unit {
 public:
  static constexpr double kNormEps = 1e-6;

  explicit DenoiserBlock(const DenoiserBlockConfig& config);

  /// x [batch * tokens, dim], the condition [batch, dim], keys and values [batch * xray_tokens,
  /// 2 * dim]; the same shape as x.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& condition,
                     const at::Tensor& keys_values, const DenoiserShape& shape) const;

  /// One sample.
  void count(std::int64_t tokens, std::int64_t xray_tokens, nn::LayerCosts& costs) const;

 private:
  at::Tensor compute(const at::Tensor& x, const at::Tensor& condition,
                     const at::Tensor& keys_values, const DenoiserShape& shape) const;
  at::Tensor by_operations(const at::Tensor& x, const at::Tensor& condition,
                           const at::Tensor& keys_values, const DenoiserShape& shape) const;
  at::Tensor heads(const at::Tensor& rows, std::int64_t batch) const;
  at::Tensor self_attention(const at::Tensor& x, const DenoiserShape& shape) const;
  at::Tensor cross_attention(const at::Tensor& x, const at::Tensor& keys_values,
                             const DenoiserShape& shape) const;
  at::Tensor mlp(const at::Tensor& x) const { return fc2_->forward(at::gelu(fc1_->forward(x))); }
  std::optional<at::ScalarType> possible_dtype(const at::Tensor& x, const at::Tensor& condition,
                                               const at::Tensor& keys_values) const;

  DenoiserBlockConfig config_;
  std::shared_ptr<nn::Linear> modulation_;
  std::shared_ptr<torch::nn::Module> attn_;
  std::shared_ptr<nn::Linear> qkv_;
  std::shared_ptr<nn::Linear> proj_;
  std::shared_ptr<torch::nn::Module> cross_;
  std::shared_ptr<nn::Linear> query_;
  std::shared_ptr<nn::Linear> cross_proj_;
  std::shared_ptr<nn::Linear> fc1_;
  std::shared_ptr<nn::Linear> fc2_;
  DenoiserWeights weights_;  ///< the layers' own tensors, unless they have factors
};

}  // namespace paceline::models
