#pragma once

#include "paceline/base/philox.h"
#include "paceline/data/image/pixels.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/kernels/affine_matrix.h"
#include "paceline/data/transforms/kernels/edge_padding.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace paceline::data {

/// What a sample's random draws depend on, and nothing else.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  ///< of the sample in the epoch's global order
  std::uint64_t sample = 0;    ///< its number in the data set, which is the same in every epoch
  /// Of transforms that make several views: which one, instead of a drawn one.
  std::optional<int> view = std::nullopt;
};

/// Red, green, blue.
using FillColor = std::array<std::uint8_t, 3>;

inline FillColor fill_color(const std::array<int, 3>& fill) {
  return {static_cast<std::uint8_t>(fill[0]), static_cast<std::uint8_t>(fill[1]),
          static_cast<std::uint8_t>(fill[2])};
}

/// One operation on an image with explicit parameters.
struct CropStep {
  Box box;  ///< may reach outside the image
  EdgePadding outside = EdgePadding::kConstant;
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
  std::optional<ImageSize> size = std::nullopt;  ///< of the result; empty: of the image
};
struct PerspectiveStep {
  PerspectiveMatrix matrix = {1, 0, 0, 0, 1, 0, 0, 0};
  AffineInterpolation interpolation = AffineInterpolation::kBilinear;
  FillColor fill = {0, 0, 0};
};
/// torchvision's ElasticTransform; see Displacement.
struct ElasticStep {
  std::array<double, 2> alpha = {50, 50};
  std::array<double, 2> sigma = {5, 5};
  bool is_linear = true;  ///< else of the nearest pixel
  FillColor fill = {0, 0, 0};
  std::uint64_t seed = 0;
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
/// torchvision's; the image must have more than half as many pixels along each axis.
struct GaussianBlurStep {
  ImageSize kernel_size = {3, 3};  ///< odd
  double sigma = 1.0;
};
/// Pillow's ImageFilter.GaussianBlur.
struct BoxBlurStep {
  float radius = 1.0f;  ///< above 0
};
struct PosterizeStep {
  int bits = 8;  ///< in [0, 8]; 0: black
};
struct SolarizeStep {
  double threshold = 256.0;
};
/// Bytes below `threshold` become larger by `amount`.
struct SolarizeAddStep {
  int amount = 0;
  int threshold = 128;
};
struct InvertStep {};
struct AutocontrastStep {};
struct EqualizeStep {};
/// What a transform brings along: an operation that changes colours and moves nothing. Writes each
/// row of `target`, an image of the source's size whose rows begin `stride` bytes apart and which
/// does not overlap it.
struct PixelStep {
  using Parameters = std::array<double, 4>;
  void (*run)(const PixelView& source, const Parameters& parameters, std::uint8_t* target,
              std::ptrdiff_t stride) = nullptr;
  Parameters parameters = {};
};
/// Begins a mixture of images that are made of the one at hand, with a share of it as it is.
struct MixStep {
  float share = 1.0f;
};
/// Adds the image at hand, made by the steps since, and goes back to the one that MixStep met,
/// whose size it must have.
struct MixInStep {
  float share = 1.0f;
};
/// Ends the mixture, which is now the image: `sum_share` of what was added, and `own_share` of the
/// one that MixStep met, each product rounded.
struct MixedStep {
  float sum_share = 1.0f;
  float own_share = 0.0f;
  /// Instead: Pillow's blend of the one that MixStep met with what was added, cut off to bytes.
  std::optional<float> blended = std::nullopt;
};
/// On the normalised floats, so after all steps of other kinds; any number of them.
struct EraseStep {
  Box box;
  std::array<float, 3> value = {0, 0, 0};
  std::optional<std::uint64_t> noise_seed = std::nullopt;  ///< instead: of normal numbers
};

using Step =
    std::variant<CropStep, ResizeStep, FlipStep, VerticalFlipStep, AffineStep, PerspectiveStep,
                 ElasticStep, BrightnessStep, ContrastStep, SaturationStep, HueStep, SharpnessStep,
                 GaussianBlurStep, BoxBlurStep, PosterizeStep, SolarizeStep, SolarizeAddStep,
                 InvertStep, AutocontrastStep, EqualizeStep, PixelStep, MixStep, MixInStep,
                 MixedStep, EraseStep>;
using Plan = std::vector<Step>;
/// The boxes of an image, which are filled one after another.
using EraseSteps = std::vector<EraseStep>;

}  // namespace paceline::data
