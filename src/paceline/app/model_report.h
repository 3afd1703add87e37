#pragma once

#include "paceline/app/recipe/builtin.h"
#include "paceline/nn/image_size.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace paceline::app {

/// A module with parameters of its own, or one that multiplies.
struct LayerReport {
  std::string name;  ///< "layer1.0.conv1"
  std::string type;  ///< "Conv2d"; empty for one that only holds others
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> parameters;  ///< names and sizes
  std::vector<std::int64_t> output;  ///< sizes for one image, if it was counted
  double flops = 0;                  ///< multiply-accumulate operations for one image, times two

  std::int64_t num_parameters() const;
};

/// What a model is made of.
struct ModelReport {
  std::string name;
  std::string summary;
  std::int64_t num_parameters = 0;
  /// Of the image that was counted; nothing for a network that does not tell what layers cost.
  std::optional<nn::ImageSize> image_size;
  std::int64_t in_channels = 3;
  double flops = 0;
  double activations = 0;  ///< numbers that its convolutions, linear layers and attentions give out
  std::vector<LayerReport> layers;  ///< in the order of the network
};

/// Builds a model by its name and options ("num_classes=10", "model.img_size=64") and counts it for
/// an image of that size, or of its usual one. Throws ConfigError, for an unknown name with the
/// nearest one.
ModelReport describe_model(const std::string& name, const std::vector<std::string>& options,
                           std::optional<nn::ImageSize> size, const Registries& registries);

/// A table: a line for each layer, and the sums.
std::vector<std::string> model_table(const ModelReport& report);

/// One JSON object, with a list of the layers.
std::string model_json(const ModelReport& report);

/// A JSON list of all models with their defaults, without their layers; with the weights that
/// torchvision publishes under their names, and the top-1 that it tells of them, in percent.
std::string models_json(const Registries& registries);

}  // namespace paceline::app
