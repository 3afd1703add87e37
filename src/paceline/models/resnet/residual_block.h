#pragma once

#include "paceline/nn/blocks/conv_step.h"
#include "paceline/nn/dropout.h"
#include "paceline/nn/unit.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace paceline::models {

/// What a residual block's branch is.
enum class ResNetBlock {
  kBasic,       ///< two 3x3 convolutions, the stride on the first
  kBottleneck,  ///< 1x1, 3x3 with the stride and the groups ("v1.5"), 1x1 to four times the
                ///< channels
};

/// How the input of a residual block gets the size of its output, where that is another.
enum class ResNetShortcut {
  kProjection,   ///< 1x1 convolution with the stride
  kAveragePool,  ///< mean of 2x2 pixels where there is a stride, then a 1x1 convolution
  kPadding,      ///< every stride-th pixel, and zeros in new channels: no parameters
};

struct ResidualBlockConfig {
  ResNetBlock block = ResNetBlock::kBasic;
  ResNetShortcut shortcut = ResNetShortcut::kProjection;
  std::int64_t in_channels = 0;
  std::int64_t width = 0;  ///< channels of a 3x3 convolution
  std::int64_t out_channels = 0;
  std::int64_t stride = 1;
  std::int64_t groups = 1;  ///< of a bottleneck's 3x3 convolution
  double drop_path_rate = 0.0;
};

/// Convolutions, each followed by batch normalisation, around a shortcut, with torchvision's names:
/// conv1, bn1 and so on, downsample.0 and downsample.1; timm's downsample.1 and downsample.2 behind
/// a mean of pixels. Of new channels that padding makes, half lie before the input's.
/// Papers: He et al., "Deep residual learning for image recognition", 2016; Xie et al., "Aggregated
/// residual transformations", 2017 (groups); He et al., "Bag of tricks", 2019 (means).
class ResidualBlock : public nn::Unit, public nn::FoldsNorms {
 public:
  ResidualBlock(const ResidualBlockConfig& config, std::uint64_t draw_index);

  /// [N, in, H, W] to [N, out, H', W'].
  at::Tensor forward(const at::Tensor& input, const nn::ForwardContext& context) const;

  void fold_norms(at::ScalarType dtype) override;

  /// One image; makes `size` the output's.
  void count(nn::ImageSize& size, nn::LayerCosts& costs) const;

 private:
  at::Tensor compute(const at::Tensor& input, const nn::ForwardContext& context) const;
  at::Tensor shortcut(const at::Tensor& input) const;
  /// Without the branch.
  at::Tensor skip(const at::Tensor& input) const;
  bool changes_size() const {
    return config_.stride != 1 || config_.in_channels != config_.out_channels;
  }
  bool pools() const {
    return config_.shortcut == ResNetShortcut::kAveragePool && config_.stride > 1;
  }
  void add_to_branch(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size,
                     const nn::Conv2d::Options& options);
  void add_downsample();

  ResidualBlockConfig config_;
  std::vector<nn::ConvStep> branch_;
  nn::ConvStep downsample_;  ///< empty where the shortcut has no parameters
  std::shared_ptr<nn::DropPath> drop_path_;
};

}  // namespace paceline::models
