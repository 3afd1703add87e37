#pragma once

#include <array>
#include <variant>

namespace paceline::data {

/// Pillow's antialiased filters.
enum class Interpolation { kBilinear, kBicubic };

/// The settings of each transform; names and defaults are torchvision's. Sizes are of squares.
struct RandomResizedCropConfig {
  int size = 224;
  std::array<double, 2> scale = {0.08, 1.0};
  std::array<double, 2> ratio = {3.0 / 4.0, 4.0 / 3.0};
  Interpolation interpolation = Interpolation::kBilinear;
};

struct RandomCropConfig {
  int size = 32;
  int padding = 0;  ///< black pixels added on each side first
};

struct RandomHorizontalFlipConfig {
  double p = 0.5;
};

/// Factors for brightness, contrast and saturation are drawn from [max(0, 1 - v), 1 + v], the hue's
/// shift from [-hue, hue] turns. A value of 0 leaves that step out.
struct ColorJitterConfig {
  double brightness = 0.0;
  double contrast = 0.0;
  double saturation = 0.0;
  double hue = 0.0;
};

/// The shorter side becomes `size`; the longer one follows, rounded down.
struct ResizeConfig {
  int size = 256;
  Interpolation interpolation = Interpolation::kBilinear;
};

/// Cut from the centre; an image that is too small gets a black border.
struct CenterCropConfig {
  int size = 224;
};

/// x / 255, minus mean, divided by std, each step rounded to float32. The defaults are ImageNet's.
struct NormalizeConfig {
  std::array<double, 3> mean = {0.485, 0.456, 0.406};
  std::array<double, 3> std = {0.229, 0.224, 0.225};
};

/// Every transform there is; `list transforms` and recipes go through the alternatives of this
/// type.
using TransformConfig =
    std::variant<RandomResizedCropConfig, RandomCropConfig, RandomHorizontalFlipConfig,
                 ColorJitterConfig, ResizeConfig, CenterCropConfig, NormalizeConfig>;

}  // namespace paceline::data
