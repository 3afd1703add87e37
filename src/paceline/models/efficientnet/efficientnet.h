#pragma once

#include "paceline/config/registry.h"
#include "paceline/models/fields/classifier_fields.h"
#include "paceline/models/inverted_residual/features.h"
#include "paceline/nn/blocks/head.h"
#include "paceline/nn/image_network.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::models {

/// What the user chooses of an EfficientNet. B1 to B4 are B0 with multipliers of their own.
struct EfficientNetConfig {
  std::int64_t num_classes = 1000;
  nn::HeadKind head = nn::HeadKind::kLinear;
  std::int64_t in_channels = 3;
  double width_mult = 1.0;
  double depth_mult = 1.0;
  double drop_rate = 0.2;
  double drop_path_rate = 0.2;
};

/// A row of table 1 of the first paper or of table 4 of the second; its input are the last row's
/// outputs. The stride is that of the stage's first block.
struct EfficientNetStage {
  bool fused;
  double expand_ratio;
  std::int64_t kernel_size;
  std::int64_t stride;
  std::int64_t out_channels;
  std::int64_t num_blocks;
};

/// What makes an EfficientNet one of the first or the second version, before its multipliers.
struct EfficientNetShape {
  std::int64_t first_channels;
  std::vector<EfficientNetStage> stages;
  std::int64_t last_channels;  ///< 0: four times the last stage's
  double norm_eps;
  std::int64_t image_size = 224;  ///< height and width that it was made for
};

/// EfficientNet with torchvision's names, initialisation and numbers.
/// Papers: Tan and Le, "EfficientNet", 2019, and "EfficientNetV2", 2021.
class EfficientNet : public nn::CountedImageNetwork {
 public:
  EfficientNet(const EfficientNetShape& shape, const EfficientNetConfig& config);

  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext& context) override;
  void initialize_parameter(const nn::NamedTensor& parameter,
                            const tensor::DrawKey& key) const override;
  std::optional<std::int64_t> in_channels() const override { return config_.in_channels; }
  void count_image(nn::ImageSize size, nn::LayerCosts& costs) const override;
  nn::ImageSize usual_size() const override { return {image_size_, image_size_}; }
  bool gives_features() const override { return output_->kind() == nn::HeadKind::kNone; }
  std::vector<std::string> head_names() const override { return {"classifier.1"}; }
  std::vector<std::string> stem_names() const override { return {"features.0"}; }

 private:
  EfficientNetConfig config_;
  std::int64_t image_size_;
  std::shared_ptr<InvertedResidualFeatures> features_;
  std::shared_ptr<nn::Dropout> dropout_;
  std::shared_ptr<nn::Head> output_;
};

/// Registers efficientnet_b0 to efficientnet_b4 and efficientnet_v2_s.
void add_efficientnets(config::Registry<nn::Network>& registry);

}  // namespace paceline::models

template <>
struct paceline::config::Schema<paceline::models::EfficientNetConfig> {
  using T = paceline::models::EfficientNetConfig;
  static constexpr std::string_view name = "efficientnet";
  static constexpr std::string_view summary = "EfficientNet.";
  static constexpr std::string_view paper = "Tan and Le, EfficientNet, 2019; EfficientNetV2, 2021";
  static constexpr auto fields = std::tuple_cat(
      models::classifier_fields<T>(),
      std::tuple{models::width_field<T>(),
                 field(&T::depth_mult, "depth_mult",
                       "Factor on the number of each stage's blocks, which is rounded up.",
                       MoreThan{0.0}, AtMost{100, "no model is deeper"})},
      models::drop_fields<T>(
          "Stochastic depth: block i of n, counted from 0, has i / n of this rate."));
};
