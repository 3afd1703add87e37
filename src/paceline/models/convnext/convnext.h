#pragma once

#include "paceline/config/registry.h"
#include "paceline/models/convnext/convnext_block.h"
#include "paceline/models/fields/classifier_fields.h"
#include "paceline/nn/blocks/head.h"
#include "paceline/nn/image_network.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::models {

/// timm's names and defaults. A named ConvNeXt is one with defaults of its own.
struct ConvNextConfig {
  std::int64_t num_classes = 1000;
  nn::HeadKind head = nn::HeadKind::kLinear;
  std::int64_t in_channels = 3;
  std::array<std::int64_t, 4> depths{3, 3, 9, 3};       ///< blocks of each stage
  std::array<std::int64_t, 4> dims{96, 192, 384, 768};  ///< channels of each stage
  std::optional<double> ls_init_value = 1e-6;           ///< of layer scale; none: no layer scale
  bool use_grn = false;         ///< global response normalisation in the MLP, as V2 has
  bool conv_mlp = false;        ///< the MLP's weights are those of 1x1 convolutions
  double drop_rate = 0.0;       ///< before the head
  double drop_path_rate = 0.0;  ///< of the last block; grows linearly from 0 at the first
  FusedMode fused = FusedMode::kAuto;
};

/// Convolutional network after the fashion of transformers, with timm's names, initialisation and
/// numbers. What it computes lies channels-last, however the images lie.
/// Papers: Liu et al., "A ConvNet for the 2020s", 2022; Woo et al., "ConvNeXt V2", 2023.
class ConvNext : public nn::CountedImageNetwork {
 public:
  explicit ConvNext(const ConvNextConfig& config);

  /// Throws ConfigError for images of fewer than 32 pixels a side.
  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext& context) override;
  void initialize_parameter(const nn::NamedTensor& parameter,
                            const tensor::DrawKey& key) const override;
  std::optional<std::int64_t> in_channels() const override { return config_.in_channels; }
  void count_image(nn::ImageSize size, nn::LayerCosts& costs) const override;
  bool gives_features() const override { return head_fc_->kind() == nn::HeadKind::kNone; }
  std::vector<std::string> head_names() const override { return {"head.fc"}; }
  std::vector<std::string> stem_names() const override { return {"stem"}; }
  /// As timm's: a downsampling is of the layer of the block behind it.
  std::vector<std::vector<std::string>> layer_names() const override;

 private:
  struct Stage {
    std::shared_ptr<ConvNextDownsample> downsample;  ///< null in the first
    std::vector<std::shared_ptr<ConvNextBlock>> blocks;
  };

  void add_stage(torch::nn::Module& stages, std::size_t number, std::int64_t first_block);

  ConvNextConfig config_;
  std::shared_ptr<nn::Conv2d> stem_conv_;
  std::shared_ptr<nn::LayerNorm> stem_norm_;
  std::vector<Stage> stages_;
  std::shared_ptr<nn::LayerNorm> head_norm_;
  std::shared_ptr<nn::Dropout> head_drop_;
  std::shared_ptr<nn::Head> head_fc_;
};

std::unique_ptr<nn::Network> make(const ConvNextConfig& config);

/// Registers convnext_tiny to convnext_large, convnextv2_atto to convnextv2_large, and `convnext`
/// of any size.
void add_convnexts(config::Registry<nn::Network>& registry);

}  // namespace paceline::models

template <>
struct paceline::config::Schema<paceline::models::ConvNextConfig> {
  using T = paceline::models::ConvNextConfig;
  static constexpr std::string_view name = "convnext";
  static constexpr std::string_view summary = "ConvNeXt of any size.";
  static constexpr std::string_view paper = "Liu et al., A ConvNet for the 2020s, 2022";
  static constexpr auto fields = std::tuple_cat(
      models::classifier_fields<T>(),
      std::tuple{
          field(&T::depths, "depths", "Blocks of each of the four stages.", AtLeast{1},
                AtMost{1000, "no model is deeper"}),
          field(&T::dims, "dims", "Channels of each of the four stages.", AtLeast{1},
                AtMost{65536, "no model is wider"}),
          field(&T::ls_init_value, "ls_init_value",
                "What layer scale multiplies the blocks' branches by at first; null: no layer "
                "scale, as in V2.",
                InRange{0, 1}),
          field(&T::use_grn, "use_grn", "Global response normalisation in the MLPs, as in V2."),
          field(&T::conv_mlp, "conv_mlp",
                "Name the MLPs' weights as 1x1 convolutions, as timm's smallest sizes do; the "
                "numbers are the same.")},
      models::drop_fields<T>(
          "Stochastic depth: rate of the last block, growing linearly from 0 at the first."),
      std::tuple{models::fused_field<T>()});
};
