#pragma once

#include "paceline/pretrained/torchvision_weights.h"

#include <array>
#include <filesystem>
#include <optional>
#include <string>

namespace paceline::pretrained {

/// How images were prepared for the evaluation that weights are published with.
struct Preprocessing {
  std::array<double, 3> mean = {0.485, 0.456, 0.406};  ///< of values from 0 to 1
  std::array<double, 3> std = {0.229, 0.224, 0.225};
  int crop = 224;    ///< pixels of the centre crop's sides
  int resize = 256;  ///< pixels of the shorter side before it
  std::string interpolation = "bilinear";

  friend bool operator==(const Preprocessing&, const Preprocessing&) = default;
};

Preprocessing preprocessing_of(const TorchvisionWeights& weights);

/// Of timm's config.json: pretrained_cfg, with timm's defaults for what it leaves out, and its
/// rounding of the resize. Nothing if the file is another program's. Throws DataError.
std::optional<Preprocessing> preprocessing_in_config(const std::filesystem::path& config);

}  // namespace paceline::pretrained
