#pragma once

#include "paceline/base/error.h"
#include "paceline/nn/image_size.h"
#include "paceline/nn/layer_costs.h"
#include "paceline/nn/network.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::nn {

/// The field that image networks read: [N, channels, height, width].
inline constexpr std::string_view kImages = "images";

/// A network from images to outputs, for instance logits [N, num_classes].
class ImageNetwork : public Network {
 public:
  at::Tensor forward(const tensor::Fields& inputs, const ForwardContext& context) final {
    return forward_images(inputs.at(kImages), context);
  }
  double flops_per_sample(const SampleSizes& sizes) const final {
    const auto image = sizes.find(kImages);
    if (image == sizes.end())
      throw base::ConfigError("the model reads images, which the data set's samples have not");
    const std::int64_t channels = image->second.at(0);
    if (channels != in_channels().value_or(channels)) {
      throw base::ConfigError(
          fmt::format("model.in_channels: the model takes images of {} channels, and the data "
                      "set's have {}: set model.in_channels={}",
                      *in_channels(), channels, channels));
    }
    return flops_per_image(image->second.at(1), image->second.at(2));
  }

  virtual at::Tensor forward_images(const at::Tensor& images, const ForwardContext& context) = 0;
  /// What a user has set them to (model.in_channels); nothing if there is no such setting.
  virtual std::optional<std::int64_t> in_channels() const { return std::nullopt; }
  /// How many training images say what some of its parameters start from; 0: none do.
  virtual std::int64_t num_first_images() const { return 0; }
  /// The first values of these parameters, by name, of so many images [N, channels, height, width]
  /// or fewer, float32, prepared as for evaluation. initialize_parameter() draws them where there
  /// are no images.
  virtual std::map<std::string, at::Tensor> values_of_images(const at::Tensor& /*images*/) const {
    return {};
  }
  /// As flops_per_sample().
  virtual double flops_per_image(std::int64_t height, std::int64_t width) const = 0;
};

/// An image network that tells what each of its layers costs.
class CountedImageNetwork : public ImageNetwork {
 public:
  /// Counts the layers for an image of this size. Throws ConfigError for one that the network does
  /// not take.
  virtual void count_image(ImageSize size, LayerCosts& costs) const = 0;
  /// Of the images that it is usually trained with.
  virtual ImageSize usual_size() const { return {224, 224}; }

  double flops_per_image(std::int64_t height, std::int64_t width) const final {
    LayerCosts costs;
    count_image({height, width}, costs);
    return costs.flops();
  }
};

}  // namespace paceline::nn
