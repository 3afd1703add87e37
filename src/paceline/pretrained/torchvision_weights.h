#pragma once

#include "paceline/pretrained/weight_source.h"

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace paceline::pretrained {

/// What torchvision publishes of one set of weights, and how it preprocesses for them.
struct TorchvisionWeights {
  std::string_view model;
  std::string_view weights;  ///< the enum's member, as IMAGENET1K_V2
  std::string_view file;     ///< at download.pytorch.org/models; with the start of its SHA-256
  double top1;               ///< of ImageNet's validation images, in percent
  int resize;                ///< pixels of the shorter side
  int crop;                  ///< pixels of the centre crop's sides
  std::string_view interpolation;
  bool is_default;  ///< what torchvision calls DEFAULT
  std::array<double, 3> mean = {0.485, 0.456, 0.406};
  std::array<double, 3> std = {0.229, 0.224, 0.225};
};

/// All of them, by model.
std::span<const TorchvisionWeights> torchvision_weights();

/// The weights that a recipe names; `model` is the recipe's, and counts where the source names
/// none. Throws ConfigError that names those that there are.
const TorchvisionWeights& find_torchvision_weights(const TorchvisionSource& source,
                                                   const std::string& model);

/// At PACELINE_TORCHVISION_URL, if that names a mirror, else where torchvision has it.
std::string url_of(const TorchvisionWeights& weights);

/// "torchvision:resnet50/IMAGENET1K_V2".
std::string describe(const TorchvisionWeights& weights);

}  // namespace paceline::pretrained
