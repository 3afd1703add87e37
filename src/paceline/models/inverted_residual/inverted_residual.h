#pragma once

#include "paceline/nn/blocks/conv_norm.h"
#include "paceline/nn/blocks/squeeze_excitation.h"
#include "paceline/nn/dropout.h"
#include "paceline/nn/unit.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace paceline::models {

/// The nearest multiple of 8 that is not below nine tenths of `channels`, at least 8: what scaled
/// MobileNets and EfficientNets round their numbers of channels to.
std::int64_t rounded_channels(double channels);

/// What the blocks of one network share.
struct InvertedResidualStyle {
  nn::Activation squeeze_activation = nn::Activation::kRelu;
  nn::Activation gate = nn::Activation::kSigmoid;
  double norm_eps = 1e-5;
  double norm_momentum = 0.1;
};

struct InvertedResidualConfig {
  std::int64_t in_channels = 0;
  std::int64_t expanded_channels = 0;
  std::int64_t out_channels = 0;
  std::int64_t kernel_size = 3;
  std::int64_t stride = 1;
  std::int64_t squeeze_channels = 0;  ///< 0: no squeeze and excitation
  /// One convolution over all channels in place of the expansion and the depthwise one, and of the
  /// projection too where nothing is expanded.
  bool fused = false;
  nn::Activation activation = nn::Activation::kRelu;
};

/// A 1x1 convolution that expands the channels, a depthwise one, squeeze and excitation, and a 1x1
/// convolution that projects them, around an identity where it fits; torchvision's names of
/// MobileNetV3's InvertedResidual and EfficientNet's MBConv and FusedMBConv: block.0, block.1, ...
/// It uses one draw index.
/// Papers: Sandler et al., "MobileNetV2", 2018; Tan and Le, "EfficientNetV2", 2021.
class InvertedResidual : public nn::Unit {
 public:
  InvertedResidual(const InvertedResidualConfig& config, const InvertedResidualStyle& style,
                   double drop_path_rate, std::uint64_t draw_index);

  /// [N, in, H, W] to [N, out, H', W'].
  at::Tensor forward(const at::Tensor& input, const nn::ForwardContext& context) const;

  /// One image; makes `size` the output's.
  void count(nn::ImageSize& size, nn::LayerCosts& costs) const;

 private:
  at::Tensor compute(const at::Tensor& input, const nn::ForwardContext& context) const;

  std::vector<std::shared_ptr<nn::ConvNorm>> convs_;
  std::shared_ptr<nn::SqueezeExcitation> squeeze_;  ///< before the last one; may be null
  std::shared_ptr<nn::DropPath> drop_path_;         ///< null without an identity
};

}  // namespace paceline::models
