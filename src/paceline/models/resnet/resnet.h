#pragma once

#include "paceline/config/schema.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/nn/conv.h"
#include "paceline/nn/image_network.h"
#include "paceline/nn/linear.h"
#include "paceline/nn/max_pool.h"
#include "paceline/nn/unit.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::models {

/// How a ResNet enters its first block.
enum class ResNetStem {
  kImagenet,  ///< 7x7 convolution of stride 2 and 3x3 max pooling of stride 2
  kSmall,     ///< 3x3 convolution of stride 1, no pooling: for images of about 32 pixels
};

/// What the user chooses of a ResNet.
struct ResNetConfig {
  std::int64_t num_classes = 1000;
  ResNetStem stem = ResNetStem::kImagenet;
  bool zero_init_residual = false;
};

/// What makes a ResNet 18, 34, 50, 101 or 152 layers deep.
struct ResNetShape {
  std::array<std::int64_t, 4> blocks;  ///< in layer1 to layer4
  bool bottleneck = false;
  std::int64_t width = 64;  ///< channels of the stem; each layer's blocks are twice the last one's
};

inline constexpr ResNetShape kResNet18{{2, 2, 2, 2}, false};
inline constexpr ResNetShape kResNet34{{3, 4, 6, 3}, false};
inline constexpr ResNetShape kResNet50{{3, 4, 6, 3}, true};
inline constexpr ResNetShape kResNet101{{3, 4, 23, 3}, true};
inline constexpr ResNetShape kResNet152{{3, 8, 36, 3}, true};

/// Two 3x3 convolutions, or a 1x1, 3x3, 1x1 bottleneck with the stride on the 3x3 ("v1.5"), each
/// followed by batch normalisation, around an identity or projected shortcut.
class ResidualBlock : public nn::Unit {
 public:
  ResidualBlock(std::int64_t in_channels, std::int64_t width, std::int64_t stride, bool bottleneck);

  at::Tensor forward(const at::Tensor& input) const;

  /// Of one image; advances `size` to the output's.
  double flops(nn::ImageSize& size) const;

  std::int64_t out_channels() const { return out_channels_; }

 private:
  struct ConvNorm {
    std::shared_ptr<nn::Conv2d> conv;
    std::shared_ptr<nn::BatchNorm2d> norm;
    at::Tensor forward(const at::Tensor& input) const;
  };

  at::Tensor compute(const at::Tensor& input) const;
  void add_to_branch(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size,
                     std::int64_t stride);

  std::int64_t out_channels_;
  std::vector<ConvNorm> branch_;
  ConvNorm downsample_;  ///< empty where the shortcut is the identity
};

/// Residual network with torchvision's names, initialisation and numbers.
/// Paper: He et al., "Deep residual learning for image recognition", 2016.
class ResNet : public nn::ImageNetwork {
 public:
  ResNet(const ResNetShape& shape, const ResNetConfig& config);

  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext& context) override;
  void initialize_parameter(const nn::NamedTensor& parameter,
                            const tensor::DrawKey& key) const override;
  double flops_per_image(std::int64_t height, std::int64_t width) const override;
  std::string head_name() const override { return "fc"; }
  std::vector<std::string> stem_names() const override { return {"conv1", "bn1"}; }

 private:
  void add_layer(int number, std::int64_t width, std::int64_t blocks, bool bottleneck);

  ResNetConfig config_;
  bool is_bottleneck_;
  std::int64_t channels_;  ///< of the last block added so far
  std::shared_ptr<nn::Conv2d> conv1_;
  std::shared_ptr<nn::BatchNorm2d> bn1_;
  std::shared_ptr<nn::MaxPool2d> maxpool_;              ///< null behind a small stem
  std::vector<std::shared_ptr<ResidualBlock>> blocks_;  ///< of layer1 to layer4, in order
  std::shared_ptr<nn::Linear> fc_;
};

}  // namespace paceline::models

template <>
struct paceline::config::EnumNames<paceline::models::ResNetStem> {
  static constexpr std::array names{
      EnumName{paceline::models::ResNetStem::kImagenet, "imagenet"},
      EnumName{paceline::models::ResNetStem::kSmall, "small"},
  };
};

template <>
struct paceline::config::Schema<paceline::models::ResNetConfig> {
  using T = paceline::models::ResNetConfig;
  static constexpr std::string_view name = "resnet";
  static constexpr std::string_view summary = "Residual network.";
  static constexpr std::string_view paper =
      "He et al., Deep residual learning for image recognition, 2016";
  static constexpr auto fields = std::tuple{
      field(&T::num_classes, "num_classes", "Outputs of the classifier.", AtLeast{1},
            AtMost{10'000'000, "no classifier has more outputs"}),
      field(
          &T::stem, "stem",
          "First layers: imagenet (7x7 of stride 2, pooling) or small (3x3 of stride 1) for images "
          "of about 32 pixels."),
      field(&T::zero_init_residual, "zero_init_residual",
            "Start each block as the identity: its last BatchNorm's weight is 0.")};
};
