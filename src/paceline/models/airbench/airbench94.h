#pragma once

#include "paceline/models/fields/classifier_fields.h"
#include "paceline/nn/blocks/conv_step.h"
#include "paceline/nn/blocks/head.h"
#include "paceline/nn/image_network.h"
#include "paceline/nn/max_pool.h"
#include "paceline/nn/unit.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::models {

/// What the user chooses of an Airbench94.
struct Airbench94Config {
  std::int64_t num_classes = 10;
  nn::HeadKind head = nn::HeadKind::kLinear;
  std::int64_t in_channels = 3;
  std::vector<std::int64_t> widths = {64, 256, 256};
  double logit_scale = 1.0 / 9;
};

/// Two 3x3 convolutions with batch normalisation and a GELU behind each, and a pool to half the
/// resolution behind the first. Names: conv1, norm1, conv2, norm2.
class Airbench94Group : public nn::Unit {
 public:
  Airbench94Group(std::int64_t in_channels, std::int64_t out_channels);

  /// [N, in, H, W] to [N, out, H / 2, W / 2].
  at::Tensor forward(const at::Tensor& input) const;

  /// One image; makes `size` the output's.
  void count(nn::ImageSize& size, nn::LayerCosts& costs) const;

 private:
  nn::ConvStep first_;
  std::shared_ptr<nn::MaxPool2d> pool_;
  nn::ConvStep second_;
};

/// The network of airbench94: a 2x2 convolution that whitens patches, whose weights start from
/// training images and stay; a GELU; three groups, each channel's largest value, and a linear layer
/// without bias whose outputs are scaled. The scales of batch normalisations stay 1, their eps is
/// 1e-12 and their momentum 0.4. The first rows of the 3x3 convolutions are the identity (Dirac);
/// the rest is torch's own initialisation. The script's names: 0, 2 to 4, 7. 1,972,792 parameters
/// for ten classes, of which 1,971,352 are trained.
/// Source: Jordan, "94% on CIFAR-10 in 3.29 seconds on a single GPU", 2024.
class Airbench94 : public nn::CountedImageNetwork {
 public:
  /// Throws ConfigError unless there are three widths.
  explicit Airbench94(const Airbench94Config& config);

  /// Throws ConfigError for images of fewer than 9 pixels a side.
  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext& context) override;
  void initialize_parameter(const nn::NamedTensor& parameter,
                            const tensor::DrawKey& key) const override;
  /// Those that airbench94 whitens by.
  std::int64_t num_first_images() const override { return 5000; }
  /// The whitening convolution's: whitening_filters() of the images.
  std::map<std::string, at::Tensor> values_of_images(const at::Tensor& images) const override;
  std::optional<std::int64_t> in_channels() const override { return config_.in_channels; }
  /// Throws as forward_images().
  void count_image(nn::ImageSize size, nn::LayerCosts& costs) const override;
  nn::ImageSize usual_size() const override { return {32, 32}; }
  bool gives_features() const override { return head_->kind() == nn::HeadKind::kNone; }
  std::vector<std::string> head_names() const override { return {"7"}; }
  std::vector<std::string> stem_names() const override { return {"0"}; }

 private:
  Airbench94Config config_;
  std::shared_ptr<nn::Conv2d> whitening_;
  std::vector<std::shared_ptr<Airbench94Group>> groups_;
  std::shared_ptr<nn::Head> head_;
};

/// Filters [2 * n, C, size, size], n = C * size * size, that make what patches of images [N, C, H,
/// W] have in common equally strong and independent: the eigenvectors of the patches' second
/// moments, the strongest first, each divided by sqrt(eigenvalue + eps), and the same negated. An
/// eigenvector's largest element is positive. float32, computed in float64.
at::Tensor whitening_filters(const at::Tensor& images, std::int64_t size, double eps);

std::unique_ptr<nn::Network> make(const Airbench94Config& config);

}  // namespace paceline::models

template <>
struct paceline::config::Schema<paceline::models::Airbench94Config> {
  using T = paceline::models::Airbench94Config;
  static constexpr std::string_view name = "airbench94";
  static constexpr std::string_view summary =
      "Network of airbench94, which learns CIFAR-10 in ten epochs, its script's names.";
  static constexpr std::string_view paper = "Jordan, 2024";
  static constexpr auto fields =
      std::tuple_cat(models::classifier_fields<T>(),
                     std::tuple{field(&T::widths, "widths", "Channels of each of the three groups.",
                                      AtLeast{1}, AtMost{65536, "no model is wider"}),
                                field(&T::logit_scale, "logit_scale", "Factor on the outputs.",
                                      MoreThan{0}, AtMost{1000, "no logits are larger"})});

  static void validate(const T& value, Problems& problems) {
    if (value.widths.size() != 3) problems.add("widths", "has one number for each of three groups");
  }
};
