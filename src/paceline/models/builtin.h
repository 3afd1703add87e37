#pragma once

#include "paceline/config/registry.h"
#include "paceline/models/resnet/resnet.h"
#include "paceline/models/vit/vit.h"
#include "paceline/nn/network.h"

template <>
struct paceline::config::EnumNames<paceline::models::ResNetStem> {
  static constexpr std::array names{
      EnumName{paceline::models::ResNetStem::kImagenet, "imagenet"},
      EnumName{paceline::models::ResNetStem::kSmall, "small"},
  };
};

template <>
struct paceline::config::EnumNames<paceline::models::FusedMode> {
  static constexpr std::array names{
      EnumName{paceline::models::FusedMode::kAuto, "auto"},
      EnumName{paceline::models::FusedMode::kOn, "on"},
      EnumName{paceline::models::FusedMode::kOff, "off"},
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

template <>
struct paceline::config::Schema<paceline::models::VitConfig> {
  using T = paceline::models::VitConfig;
  static constexpr std::string_view name = "vit";
  static constexpr std::string_view summary = "Vision transformer of any size.";
  static constexpr std::string_view paper =
      "Dosovitskiy et al., An image is worth 16x16 words, 2021";
  static constexpr auto fields = std::tuple{
      field(&T::num_classes, "num_classes", "Outputs of the classifier.", AtLeast{1},
            AtMost{10'000'000, "no classifier has more outputs"}),
      field(&T::img_size, "img_size", "Height and width of the images in pixels.", AtLeast{1},
            AtMost{16384, "no image has a longer side"}),
      field(&T::patch_size, "patch_size", "Height and width of a patch in pixels.", AtLeast{1},
            AtMost{16384, "no image has a longer side"}),
      field(&T::embed_dim, "embed_dim", "Width of a token.", AtLeast{1},
            AtMost{65536, "no model is wider"}),
      field(&T::depth, "depth", "Number of blocks.", AtLeast{1},
            AtMost{1000, "no model is deeper"}),
      field(&T::num_heads, "num_heads", "Attention heads per block.", AtLeast{1},
            AtMost{65536, "no model is wider"}),
      field(&T::mlp_ratio, "mlp_ratio", "Width of the MLP's hidden layer / embed_dim.", MoreThan{0},
            AtMost{1000, "no model is wider"}),
      field(&T::drop_rate, "drop_rate", "Dropout before the head.", InRange{0, 1},
            MayChangeOnResume{}),
      field(&T::pos_drop_rate, "pos_drop_rate", "Dropout after the position embedding.",
            InRange{0, 1}, MayChangeOnResume{}),
      field(&T::proj_drop_rate, "proj_drop_rate", "Dropout after the blocks' linear layers.",
            InRange{0, 1}, MayChangeOnResume{}),
      field(&T::attn_drop_rate, "attn_drop_rate", "Dropout on the attention weights.",
            InRange{0, 1}, MayChangeOnResume{}),
      field(&T::drop_path_rate, "drop_path_rate",
            "Stochastic depth: rate of the last block, growing linearly from 0 at the first.",
            InRange{0, 1}, MayChangeOnResume{}),
      field(&T::fused, "fused",
            "Run a block as one autograd node: auto (where it applies), on or off.",
            MayChangeOnResume{})};
  static void validate(const T& config, Problems& problems);
};

namespace paceline::models {

using Registry = config::Registry<nn::Network>;

/// Registers resnet18 to resnet152, the ViTs by timm's names, and `vit` of any size.
void add_builtin(Registry& registry);

}  // namespace paceline::models
