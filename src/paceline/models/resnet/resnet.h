#pragma once

#include "paceline/config/registry.h"
#include "paceline/models/fields/classifier_fields.h"
#include "paceline/models/resnet/residual_block.h"
#include "paceline/nn/blocks/head.h"
#include "paceline/nn/image_network.h"
#include "paceline/nn/max_pool.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::models {

/// How a ResNet enters its first block.
enum class ResNetStem {
  kImagenet,    ///< 7x7 convolution of stride 2 and 3x3 max pooling of stride 2
  kSmall,       ///< 3x3 convolution of stride 1, no pooling: for images of about 32 pixels
  kDeep,        ///< three 3x3 convolutions, the first two half as wide, instead of the 7x7 one
  kDeepTiered,  ///< the same, 3/8, 1/2 and all of the width
};

/// What a ResNet's first weights are drawn from.
enum class ResNetInit {
  kTorchvision,  ///< kernels by fan-out, the classifier as torch does, BatchNorms 1 and 0
  kMosaic,       ///< kernels and classifier by fan-in, BatchNorms' weights uniform from 0 to 1, the
                 ///< classifier's bias -ln(num_classes): each class begins with its share
};

/// torchvision's names and defaults. A named ResNet is one with defaults of its own.
struct ResNetConfig {
  std::int64_t num_classes = 1000;
  nn::HeadKind head = nn::HeadKind::kLinear;
  std::int64_t in_channels = 3;
  std::vector<std::int64_t> layers = {2, 2, 2, 2};
  ResNetBlock block = ResNetBlock::kBasic;
  std::int64_t width = 64;
  std::int64_t groups = 1;
  std::int64_t width_per_group = 64;
  ResNetStem stem = ResNetStem::kImagenet;
  ResNetShortcut shortcut = ResNetShortcut::kProjection;
  bool zero_init_residual = false;
  ResNetInit weight_init = ResNetInit::kTorchvision;
  double drop_rate = 0.0;
  double drop_path_rate = 0.0;
};

/// Residual network with torchvision's names, initialisation and numbers; timm's where torchvision
/// has no such stem or shortcut.
/// Paper: He et al., "Deep residual learning for image recognition", 2016.
class ResNet : public nn::CountedImageNetwork, public nn::FoldsNorms {
 public:
  /// Throws ConfigError for what the Schema refuses.
  explicit ResNet(const ResNetConfig& config);

  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext& context) override;
  void initialize_parameter(const nn::NamedTensor& parameter,
                            const tensor::DrawKey& key) const override;
  std::optional<std::int64_t> in_channels() const override { return config_.in_channels; }
  void count_image(nn::ImageSize size, nn::LayerCosts& costs) const override;
  nn::ImageSize usual_size() const override;
  void fold_norms(at::ScalarType dtype) override;
  bool gives_features() const override { return fc_->kind() == nn::HeadKind::kNone; }
  std::vector<std::string> head_names() const override { return {"fc"}; }
  std::vector<std::string> stem_names() const override { return {"conv1", "bn1"}; }

 private:
  void initialize_as_mosaic(const nn::NamedTensor& parameter, const tensor::DrawKey& key) const;
  void add_stem();
  void add_deep_stem();
  void add_layer(std::size_t index);
  ResidualBlockConfig block_config(std::size_t layer, bool is_first) const;

  ResNetConfig config_;
  std::int64_t channels_;                               ///< of the last block added so far
  std::vector<nn::ConvStep> stem_;                      ///< each followed by a ReLU
  std::shared_ptr<nn::MaxPool2d> maxpool_;              ///< null behind a small stem
  std::vector<std::shared_ptr<ResidualBlock>> blocks_;  ///< of layer1, layer2 and so on, in order
  std::shared_ptr<nn::Dropout> drop_;
  std::shared_ptr<nn::Head> fc_;
};

std::unique_ptr<nn::Network> make(const ResNetConfig& config);

}  // namespace paceline::models

template <>
struct paceline::config::EnumNames<paceline::models::ResNetStem> {
  static constexpr std::array names{
      EnumName{paceline::models::ResNetStem::kImagenet, "imagenet"},
      EnumName{paceline::models::ResNetStem::kSmall, "small"},
      EnumName{paceline::models::ResNetStem::kDeep, "deep"},
      EnumName{paceline::models::ResNetStem::kDeepTiered, "deep_tiered"},
  };
};

template <>
struct paceline::config::EnumNames<paceline::models::ResNetBlock> {
  static constexpr std::array names{
      EnumName{paceline::models::ResNetBlock::kBasic, "basic"},
      EnumName{paceline::models::ResNetBlock::kBottleneck, "bottleneck"},
  };
};

template <>
struct paceline::config::EnumNames<paceline::models::ResNetShortcut> {
  static constexpr std::array names{
      EnumName{paceline::models::ResNetShortcut::kProjection, "projection"},
      EnumName{paceline::models::ResNetShortcut::kAveragePool, "avg_pool"},
      EnumName{paceline::models::ResNetShortcut::kPadding, "padding"},
  };
};

template <>
struct paceline::config::EnumNames<paceline::models::ResNetInit> {
  static constexpr std::array names{
      EnumName{paceline::models::ResNetInit::kTorchvision, "torchvision"},
      EnumName{paceline::models::ResNetInit::kMosaic, "mosaic"},
  };
};

template <>
struct paceline::config::Schema<paceline::models::ResNetConfig> {
  using T = paceline::models::ResNetConfig;
  static constexpr std::string_view name = "resnet";
  static constexpr std::string_view summary = "Residual network of any size.";
  static constexpr std::string_view paper =
      "He et al., Deep residual learning for image recognition, 2016";
  static constexpr auto fields = std::tuple_cat(
      models::classifier_fields<T>(),
      std::tuple{
          field(&T::layers, "layers",
                "Blocks of layer1, layer2 and so on; each layer has twice the last one's channels "
                "and half its resolution.",
                AtLeast{1}, AtMost{1000, "no model is deeper"}, NotEmpty{}),
          field(&T::block, "block",
                "basic (two 3x3 convolutions) or bottleneck (1x1, 3x3, and 1x1 to four times the "
                "channels)."),
          field(&T::width, "width", "Channels of the stem and of layer1's 3x3 convolutions.",
                AtLeast{1}, AtMost{65536, "no model is wider"}),
          field(&T::groups, "groups", "Groups of a bottleneck's 3x3 convolution.", AtLeast{1},
                AtMost{65536, "no model is wider"}),
          field(&T::width_per_group, "width_per_group",
                "Channels of a group of a bottleneck's 3x3 convolution, in 64ths of what a layer "
                "has without groups.",
                AtLeast{1}, AtMost{65536, "no model is wider"}),
          field(&T::stem, "stem",
                "First layers: imagenet (7x7 of stride 2, pooling), small (3x3 of stride 1) for "
                "images of about 32 pixels, deep (three 3x3, the first of stride 2, pooling) or "
                "deep_tiered (the same, growing in width)."),
          field(&T::shortcut, "shortcut",
                "Where a block's input has another size than its output: projection (1x1 "
                "convolution), avg_pool (the same behind a mean of 2x2 pixels) or padding (zeros "
                "in new channels; no parameters)."),
          field(&T::zero_init_residual, "zero_init_residual",
                "Start each block as the identity: its last BatchNorm's weight is 0."),
          field(&T::weight_init, "weight_init",
                "Initial weights: torchvision's, or mosaic, those of MosaicML's recipes: normal by "
                "fan-in, BatchNorms' weights uniform from 0 to 1, the classifier's bias "
                "-ln(num_classes), for binary_cross_entropy.")},
      models::drop_fields<T>(
          "Stochastic depth: rate of the last block, growing linearly from 0 at the first."));
  static void validate(const T& config, Problems& problems);
};
