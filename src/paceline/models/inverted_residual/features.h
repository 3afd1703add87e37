#pragma once

#include "paceline/models/inverted_residual/inverted_residual.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace paceline::models {

struct InvertedResidualFeaturesConfig {
  std::int64_t in_channels = 3;
  nn::Activation activation = nn::Activation::kRelu;  ///< of the first and the last convolution
  InvertedResidualStyle style = {};
  std::vector<std::vector<InvertedResidualConfig>> stages = {};  ///< none of them empty
  /// A stage's blocks are named features.1.0, features.1.1, ...; else all are features.1, ...
  bool names_stages = false;
  std::int64_t last_channels = 0;
  double drop_path_rate = 0.0;  ///< times i / number of blocks, for block i from 0 on
};

/// What is `features` in torchvision's MobileNetV3 and EfficientNet: a 3x3 convolution of stride 2
/// (features.0), stages of inverted residuals and a 1x1 convolution. Block i uses draw index 1 + i.
class InvertedResidualFeatures : public torch::nn::Module {
 public:
  explicit InvertedResidualFeatures(const InvertedResidualFeaturesConfig& config);

  /// [N, in_channels, H, W] to the means over each image of the last convolution's channels,
  /// [N, last_channels].
  at::Tensor forward(const at::Tensor& images, const nn::ForwardContext& context) const;

  /// One image.
  void count(nn::ImageSize size, nn::LayerCosts& costs) const;

 private:
  void add_blocks(const InvertedResidualFeaturesConfig& config);

  std::shared_ptr<nn::ConvNorm> first_;
  std::vector<std::shared_ptr<InvertedResidual>> blocks_;
  std::shared_ptr<nn::ConvNorm> last_;
};

}  // namespace paceline::models
