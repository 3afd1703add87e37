#pragma once

#include "paceline/models/fields/classifier_fields.h"
#include "paceline/nn/blocks/conv_step.h"
#include "paceline/nn/blocks/head.h"
#include "paceline/nn/image_network.h"
#include "paceline/nn/max_pool.h"
#include "paceline/nn/unit.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::models {

/// What the user chooses of a ResNet-9.
struct ResNet9Config {
  std::int64_t num_classes = 10;
  nn::HeadKind head = nn::HeadKind::kLinear;
  std::int64_t in_channels = 3;
  std::int64_t width = 64;
  double logit_scale = 0.125;
};

/// A 3x3 convolution, pooling to half the resolution, and, if asked for, two more convolutions
/// around a shortcut; batch normalisation and a ReLU behind each. Names: conv, bn, and
/// residual.res1 and residual.res2 with the same below them.
class ResNet9Layer : public nn::Unit, public nn::FoldsNorms {
 public:
  ResNet9Layer(std::int64_t in_channels, std::int64_t out_channels, bool is_residual);

  /// [N, in, H, W] to [N, out, H / 2, W / 2].
  at::Tensor forward(const at::Tensor& input) const;

  void fold_norms(at::ScalarType dtype) override;

  /// One image; makes `size` the output's.
  void count(nn::ImageSize& size, nn::LayerCosts& costs) const;

 private:
  at::Tensor compute(const at::Tensor& input) const;

  nn::ConvStep step_;
  std::shared_ptr<nn::MaxPool2d> pool_;
  std::vector<nn::ConvStep> residual_;  ///< two or none
};

/// The network of nine layers of the fast CIFAR recipes: prep, layer1 to layer3 of twice, four and
/// eight times its channels, the first and last of these with a shortcut, the largest value of each
/// channel, and a linear layer without bias whose outputs are scaled. torch's own initialisation.
/// 6,573,120 parameters for ten classes. Page's names, with dots for its underscores.
/// Source: Page, "How to train your ResNet", 2018 (DAWNBench).
class ResNet9 : public nn::CountedImageNetwork, public nn::FoldsNorms {
 public:
  explicit ResNet9(const ResNet9Config& config);

  /// Throws ConfigError for images of fewer than 8 pixels a side.
  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext& context) override;
  void initialize_parameter(const nn::NamedTensor& parameter,
                            const tensor::DrawKey& key) const override;
  std::optional<std::int64_t> in_channels() const override { return config_.in_channels; }
  /// Throws as forward_images().
  void count_image(nn::ImageSize size, nn::LayerCosts& costs) const override;
  nn::ImageSize usual_size() const override { return {32, 32}; }
  bool gives_features() const override { return linear_->kind() == nn::HeadKind::kNone; }
  std::vector<std::string> head_names() const override { return {"linear"}; }
  std::vector<std::string> stem_names() const override { return {"prep"}; }
  void fold_norms(at::ScalarType dtype) override { prep_.fold(dtype); }

 private:
  ResNet9Config config_;
  nn::ConvStep prep_;
  std::vector<std::shared_ptr<ResNet9Layer>> layers_;
  std::shared_ptr<nn::Head> linear_;
};

std::unique_ptr<nn::Network> make(const ResNet9Config& config);

}  // namespace paceline::models

template <>
struct paceline::config::Schema<paceline::models::ResNet9Config> {
  using T = paceline::models::ResNet9Config;
  static constexpr std::string_view name = "resnet9";
  static constexpr std::string_view summary =
      "Nine-layer ResNet of the fast CIFAR recipes, Page's names.";
  static constexpr std::string_view paper = "Page, How to train your ResNet, 2018";
  static constexpr auto fields = std::tuple_cat(
      models::classifier_fields<T>(),
      std::tuple{field(&T::width, "width",
                       "Channels of the first layer; the others have 2, 4 and 8 times as many.",
                       AtLeast{1}, AtMost{65536, "no model is wider"}),
                 field(&T::logit_scale, "logit_scale", "Factor on the outputs.", MoreThan{0},
                       AtMost{1000, "no logits are larger"})});
};
