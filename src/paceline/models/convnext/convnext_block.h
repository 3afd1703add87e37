#pragma once

#include "paceline/models/fields/fused_mode.h"
#include "paceline/nn/conv.h"
#include "paceline/nn/dropout.h"
#include "paceline/nn/global_response_norm.h"
#include "paceline/nn/layer_norm.h"
#include "paceline/nn/linear.h"
#include "paceline/nn/unit.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

namespace paceline::models {

/// Of all LayerNorms of a ConvNeXt.
inline constexpr double kConvNextNormEps = 1e-6;

/// The parameters of a block in registration order: gamma, weight and bias of conv_dw, norm,
/// mlp.fc1, mlp.grn and mlp.fc2. For what a block has not there are tensors without elements.
using ConvNextBlockWeights = std::array<at::Tensor, 11>;

struct ConvNextBlockConfig {
  std::int64_t dim = 0;
  bool layer_scale = true;
  bool use_grn = false;
  bool conv_mlp = false;
  double drop_path_rate = 0.0;
  FusedMode fused = FusedMode::kAuto;
};

/// The MLP's layers see one pixel each, so they are linear layers or, by another shape of the
/// weight alone, 1x1 convolutions.
struct PixelLinear {
  std::shared_ptr<nn::Linear> linear = nullptr;
  std::shared_ptr<nn::Conv2d> conv = nullptr;  ///< if it is no linear layer

  /// [pixels, in] to [pixels, out].
  at::Tensor forward(const at::Tensor& pixels) const;
  /// One image of that size.
  void count(const nn::ImageSize& size, nn::LayerCosts& costs) const;
  const at::Tensor& weight() const { return linear ? linear->weight : conv->weight; }
  const at::Tensor& bias() const { return linear ? linear->bias : conv->bias; }
  bool has_factors() const {
    return linear ? linear->to_latent() != nullptr : conv->to_latent() != nullptr;
  }
};

/// A 7x7 depthwise convolution, LayerNorm of the channels, an MLP four times as wide, and layer
/// scale, around an identity, with timm's names (gamma, conv_dw, norm, mlp.fc1, mlp.grn, mlp.fc2),
/// LayerNorm eps 1e-6, exact GELU. It uses one draw index.
class ConvNextBlock : public nn::Unit {
 public:
  ConvNextBlock(const ConvNextBlockConfig& config, std::uint64_t draw_index);

  /// [N, dim, H, W] to the same shape, which lies channels-last.
  at::Tensor forward(const at::Tensor& input, const nn::ForwardContext& context) const;

  /// One image.
  void count(nn::ImageSize size, nn::LayerCosts& costs) const;

 private:
  std::optional<at::ScalarType> possible_dtype(const at::Tensor& input) const;
  at::Tensor compute(const at::Tensor& input, const nn::ForwardContext& context) const;

  FusedMode fused_;
  at::Tensor gamma_;  ///< undefined without layer scale
  std::shared_ptr<nn::Conv2d> conv_dw_;
  std::shared_ptr<nn::LayerNorm> norm_;
  PixelLinear fc1_;
  std::shared_ptr<nn::GlobalResponseNorm> grn_;  ///< null in ConvNeXt's first version
  PixelLinear fc2_;
  std::shared_ptr<nn::DropPath> drop_path_;
  ConvNextBlockWeights weights_;  ///< the layers' own tensors, unless they have factors
};

/// LayerNorm of the channels and a 2x2 convolution of stride 2: from one stage to the next.
class ConvNextDownsample : public nn::Unit {
 public:
  ConvNextDownsample(std::int64_t in_dim, std::int64_t out_dim);

  at::Tensor forward(const at::Tensor& input) const;

  /// One image; makes `size` the output's.
  void count(nn::ImageSize& size, nn::LayerCosts& costs) const { conv_->count(size, costs); }

 private:
  std::shared_ptr<nn::LayerNorm> norm_;
  std::shared_ptr<nn::Conv2d> conv_;
};

}  // namespace paceline::models
