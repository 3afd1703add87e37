#pragma once

#include <array>
#include <variant>

namespace paceline::data {

/// Pillow's antialiased filters.
enum class Interpolation { kBilinear, kBicubic };
/// Pillow's filters of affine transforms, which are not antialiased.
enum class AffineInterpolation { kNearest, kBilinear };
/// The data sets that torchvision has AutoAugment's policies of.
enum class AugmentPolicy { kImageNet, kCifar10, kSvhn };

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

struct RandomVerticalFlipConfig {
  double p = 0.5;
};

/// Red, green and blue become the luma.
struct RandomGrayscaleConfig {
  double p = 0.1;
};

/// Factors for brightness, contrast and saturation are drawn from [max(0, 1 - v), 1 + v], the hue's
/// shift from [-hue, hue] turns. A value of 0 leaves that step out.
struct ColorJitterConfig {
  double brightness = 0.0;
  double contrast = 0.0;
  double saturation = 0.0;
  double hue = 0.0;
};

/// An angle in degrees from `degrees`, around the middle, counter-clockwise.
struct RandomRotationConfig {
  std::array<double, 2> degrees = {-30.0, 30.0};
  AffineInterpolation interpolation = AffineInterpolation::kNearest;
  std::array<int, 3> fill = {0, 0, 0};
};

/// Rotation (clockwise), translation by up to a share of width and height, scaling and shearing
/// along the rows and the columns, around the middle.
struct RandomAffineConfig {
  std::array<double, 2> degrees = {0.0, 0.0};
  std::array<double, 2> translate = {0.0, 0.0};
  std::array<double, 2> scale = {1.0, 1.0};
  std::array<double, 2> shear_x = {0.0, 0.0};  ///< in degrees
  std::array<double, 2> shear_y = {0.0, 0.0};  ///< in degrees
  AffineInterpolation interpolation = AffineInterpolation::kNearest;
  std::array<int, 3> fill = {0, 0, 0};
};

/// `num_ops` of 14 operations, drawn with replacement, all of one magnitude.
struct RandAugmentConfig {
  int num_ops = 2;
  int magnitude = 9;
  int num_magnitude_bins = 31;
  AffineInterpolation interpolation = AffineInterpolation::kNearest;
  std::array<int, 3> fill = {0, 0, 0};
};

/// One of 14 operations with any magnitude of a wide range.
struct TrivialAugmentWideConfig {
  int num_magnitude_bins = 31;
  AffineInterpolation interpolation = AffineInterpolation::kNearest;
  std::array<int, 3> fill = {0, 0, 0};
};

/// One of 25 learned pairs of operations, each with its own probability and magnitude.
struct AutoAugmentConfig {
  AugmentPolicy policy = AugmentPolicy::kImageNet;
  AffineInterpolation interpolation = AffineInterpolation::kNearest;
  std::array<int, 3> fill = {0, 0, 0};
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

/// A box of the normalised image becomes `value`; behind normalize, the last transform. The box's
/// area is a share from `scale` of the image's, its height / width is from `ratio`.
struct RandomErasingConfig {
  double p = 0.5;
  std::array<double, 2> scale = {0.02, 0.33};
  std::array<double, 2> ratio = {0.3, 3.3};
  std::array<double, 3> value = {0.0, 0.0, 0.0};
};

/// Every transform there is; `list transforms` and recipes go through the alternatives of this
/// type.
using TransformConfig =
    std::variant<RandomResizedCropConfig, RandomCropConfig, RandomHorizontalFlipConfig,
                 RandomVerticalFlipConfig, RandomGrayscaleConfig, ColorJitterConfig,
                 RandomRotationConfig, RandomAffineConfig, RandAugmentConfig,
                 TrivialAugmentWideConfig, AutoAugmentConfig, ResizeConfig, CenterCropConfig,
                 NormalizeConfig, RandomErasingConfig>;

}  // namespace paceline::data
