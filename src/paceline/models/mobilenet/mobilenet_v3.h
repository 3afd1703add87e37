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

/// What the user chooses of a MobileNetV3.
struct MobileNetV3Config {
  std::int64_t num_classes = 1000;
  nn::HeadKind head = nn::HeadKind::kLinear;
  std::int64_t in_channels = 3;
  double width_mult = 1.0;
  double drop_rate = 0.2;
  double drop_path_rate = 0.0;
};

/// A row of table 1 or 2 of the paper; its input are the last row's outputs, at first 16 channels.
struct MobileNetV3Block {
  std::int64_t kernel_size;
  std::int64_t expanded_channels;
  std::int64_t out_channels;
  bool squeezes;
  nn::Activation activation;
  std::int64_t stride;
};

/// What makes a MobileNetV3 small or large, before width_mult.
struct MobileNetV3Shape {
  std::vector<MobileNetV3Block> blocks;
  std::int64_t hidden_channels;  ///< of the classifier
};

/// MobileNetV3 with torchvision's names, initialisation and numbers.
/// Paper: Howard et al., "Searching for MobileNetV3", 2019.
class MobileNetV3 : public nn::CountedImageNetwork {
 public:
  MobileNetV3(const MobileNetV3Shape& shape, const MobileNetV3Config& config);

  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext& context) override;
  void initialize_parameter(const nn::NamedTensor& parameter,
                            const tensor::DrawKey& key) const override;
  std::optional<std::int64_t> in_channels() const override { return config_.in_channels; }
  void count_image(nn::ImageSize size, nn::LayerCosts& costs) const override;
  bool gives_features() const override { return output_->kind() == nn::HeadKind::kNone; }
  std::vector<std::string> head_names() const override { return {"classifier.3"}; }
  std::vector<std::string> stem_names() const override { return {"features.0"}; }

 private:
  MobileNetV3Config config_;
  std::shared_ptr<InvertedResidualFeatures> features_;
  std::shared_ptr<nn::Linear> hidden_;
  std::shared_ptr<nn::Dropout> dropout_;
  std::shared_ptr<nn::Head> output_;
};

/// Registers mobilenet_v3_small and mobilenet_v3_large.
void add_mobilenets(config::Registry<nn::Network>& registry);

}  // namespace paceline::models

template <>
struct paceline::config::Schema<paceline::models::MobileNetV3Config> {
  using T = paceline::models::MobileNetV3Config;
  static constexpr std::string_view name = "mobilenet_v3";
  static constexpr std::string_view summary = "MobileNetV3.";
  static constexpr std::string_view paper = "Howard et al., Searching for MobileNetV3, 2019";
  static constexpr auto fields = std::tuple_cat(
      models::classifier_fields<T>(), std::tuple{models::width_field<T>()},
      models::drop_fields<T>(
          "Stochastic depth: block i of n, counted from 0, has i / n of this rate."));
};
