#pragma once

#include "paceline/base/philox.h"
#include "paceline/data/image/pixels.h"
#include "paceline/data/transforms/configs.h"
#include "paceline/data/transforms/kernels/affine_matrix.h"

#include <array>
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

/// Red, green, blue.
using FillColor = std::array<std::uint8_t, 3>;

inline FillColor fill_color(const std::array<int, 3>& fill) {
  return {static_cast<std::uint8_t>(fill[0]), static_cast<std::uint8_t>(fill[1]),
          static_cast<std::uint8_t>(fill[2])};
}

/// One operation on an image with explicit parameters.
struct CropStep {
  Box box;  ///< may reach outside the image: black there
};
struct ResizeStep {
  ImageSize size;
  Interpolation interpolation = Interpolation::kBilinear;
};
struct FlipStep {};          ///< left to right
struct VerticalFlipStep {};  ///< top to bottom
struct AffineStep {
  AffineMatrix matrix = {1, 0, 0, 0, 1, 0};
  AffineInterpolation interpolation = AffineInterpolation::kNearest;
  FillColor fill = {0, 0, 0};
};
struct BrightnessStep {
  float factor = 1.0f;
};
struct ContrastStep {
  float factor = 1.0f;
};
struct SaturationStep {
  float factor = 1.0f;  ///< 0: grey
};
struct HueStep {
  double turn = 0.0;  ///< in [-0.5, 0.5]
};

struct SharpnessStep {
  float factor = 1.0f;
};
struct PosterizeStep {
  int bits = 8;  ///< in [1, 8]
};
struct SolarizeStep {
  double threshold = 256.0;
};
struct InvertStep {};
struct AutocontrastStep {};
struct EqualizeStep {};
/// On the normalised floats, so after all steps of other kinds.
struct EraseStep {
  Box box;
  std::array<float, 3> value = {0, 0, 0};
};

using Step =
    std::variant<CropStep, ResizeStep, FlipStep, VerticalFlipStep, AffineStep, BrightnessStep,
                 ContrastStep, SaturationStep, HueStep, SharpnessStep, PosterizeStep, SolarizeStep,
                 InvertStep, AutocontrastStep, EqualizeStep, EraseStep>;
using Plan = std::vector<Step>;

/// Appends the steps that a transform takes for an image of size `image`, and returns the size
/// after them. The transforms of a pipeline draw one after another from one Philox(seed,
/// kAugmentation, epoch, position); this order is part of reproducibility:
///   random_resized_crop     up to 10 times: area, log of the ratio; once they fit: top, left
///   random_crop             top, left
///   random_horizontal_flip  one uniform number, below p to flip; likewise random_vertical_flip and
///                           random_grayscale
///   color_jitter            the order (Fisher-Yates from the back, 3 numbers over brightness,
///                           contrast, saturation, hue), then a factor for each that is not 0, in
///                           that listing
///   random_rotation         the angle
///   random_affine           the angle, translation (x, y), scale, shear (x, y)
///   rand_augment            num_ops times: operation; its sign if it has one
///   trivial_augment_wide    operation, magnitude, sign; the latter two if it has them
///   auto_augment            the pair, two uniform numbers, two signs
///   random_erasing          one uniform number, below p to erase; then up to 10 times: area, log
///                           of the ratio; once they fit: top, left
/// Resize, center_crop and normalize draw nothing. Throws DataError if the image does not suit.
ImageSize draw_steps(const TransformConfig& transform, ImageSize image, base::Philox& draws,
                     Plan& plan);

}  // namespace paceline::data
