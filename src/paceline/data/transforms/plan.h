#pragma once

#include "paceline/base/philox.h"
#include "paceline/data/image/pixels.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/kernels/affine_matrix.h"

#include <array>
#include <cstddef>
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
  int bits = 8;  ///< in [0, 8]; 0: black
};
struct SolarizeStep {
  double threshold = 256.0;
};
struct InvertStep {};
struct AutocontrastStep {};
struct EqualizeStep {};
/// What a transform brings along: an operation that changes colours and moves nothing. Writes each
/// row of `target`, an image of the source's size whose rows begin `stride` bytes apart.
struct PixelStep {
  using Parameters = std::array<double, 4>;
  void (*run)(const PixelView& source, const Parameters& parameters, std::uint8_t* target,
              std::ptrdiff_t stride) = nullptr;
  Parameters parameters = {};
};
/// On the normalised floats, so after all steps of other kinds.
struct EraseStep {
  Box box;
  std::array<float, 3> value = {0, 0, 0};
};

using Step =
    std::variant<CropStep, ResizeStep, FlipStep, VerticalFlipStep, AffineStep, BrightnessStep,
                 ContrastStep, SaturationStep, HueStep, SharpnessStep, PosterizeStep, SolarizeStep,
                 InvertStep, AutocontrastStep, EqualizeStep, PixelStep, EraseStep>;
using Plan = std::vector<Step>;

}  // namespace paceline::data
