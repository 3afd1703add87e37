#pragma once

#include "paceline/base/philox.h"
#include "paceline/data/codec/pixels.h"
#include "paceline/data/transforms/configs.h"

#include <cstdint>
#include <variant>
#include <vector>

namespace paceline::data {

/// What a sample's random draws depend on, and nothing else.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  ///< of the sample in the epoch's global order
};

/// One operation on an image with explicit parameters.
struct CropStep {
  Box box;  ///< may reach outside the image: black there
};
struct ResizeStep {
  ImageSize size;
  Interpolation interpolation = Interpolation::kBilinear;
};
struct FlipStep {};  ///< left to right
struct BrightnessStep {
  float factor = 1.0f;
};
struct ContrastStep {
  float factor = 1.0f;
};
struct SaturationStep {
  float factor = 1.0f;
};
struct HueStep {
  double turn = 0.0;  ///< in [-0.5, 0.5]
};

using Step = std::variant<CropStep, ResizeStep, FlipStep, BrightnessStep, ContrastStep,
                          SaturationStep, HueStep>;
using Plan = std::vector<Step>;

/// Appends the steps that a transform takes for an image of size `image`, and returns the size
/// after them. The transforms of a pipeline draw one after another from one Philox(seed,
/// kAugmentation, epoch, position); this order is part of reproducibility:
///   random_resized_crop     up to 10 times: area, log of the ratio; once they fit: top, left
///   random_crop             top, left
///   random_horizontal_flip  one uniform number, below p to flip
///   color_jitter            the order (Fisher-Yates from the back, 3 numbers over brightness,
///   contrast,
///                           saturation, hue), then a factor for each that is not 0, in that
///                           listing
/// Resize, center_crop and normalize draw nothing. Throws DataError if the image does not suit.
ImageSize draw_steps(const TransformConfig& transform, ImageSize image, base::Philox& draws,
                     Plan& plan);

}  // namespace paceline::data
