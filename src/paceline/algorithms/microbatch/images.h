#pragma once

#include "paceline/nn/image_size.h"
#include "paceline/train/algorithm.h"
#include "paceline/train/batch/batch.h"

#include <cstdint>
#include <string_view>

namespace paceline::algorithms {

/// AlgorithmTraits::order of what transforms microbatches: samples are chosen as they come, then
/// sizes change, and what mixes images mixes them as the network would see them.
enum TransformOrder : int {
  kSelectionOrder = -1,  // also before what gives BatchNorms another training kernel
  kResizingOrder = 10,
  kColoutOrder = 20,
  kCutoutOrder = 30,
  kMixupOrder = 40,
  kCutmixOrder = 50
};

/// [N, channels, height, width]. Throws ConfigError, which says to leave the algorithm out, for a
/// batch that has none.
const at::Tensor& images_of(const train::Batch& batch, std::string_view algorithm);

nn::ImageSize size_of(const at::Tensor& images);

/// Of the images of a rank's share of a batch; 0 if it has none.
std::uint64_t bytes_of_images(const train::FieldBytes& field_bytes);

}  // namespace paceline::algorithms
