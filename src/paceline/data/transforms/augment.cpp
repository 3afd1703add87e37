#include "paceline/data/transforms/augment.h"

#include "paceline/data/transforms/kernels/affine_matrix.h"

#include <cmath>
#include <numbers>

namespace paceline::data {
namespace {

/// torch.linspace in float32: from the nearer end. (torch's vector code rounds a few of the numbers
/// in another way, depending on the machine.)
double number_of_range(float first, float last, int count, int index) {
  const float step = (last - first) / static_cast<float>(count - 1);
  return index < count / 2 ? first + step * static_cast<float>(index)
                           : last - step * static_cast<float>(count - index - 1);
}

double degrees_of_slope(double slope) { return std::atan(slope) * (180.0 / std::numbers::pi); }

/// The movement of the five operations that move pixels. Shearing is about the top left corner.
AffineMatrix augment_matrix(AugmentOp op, double magnitude, ImageSize image) {
  if (op == AugmentOp::kShearX) return affine_matrix({.shear = {degrees_of_slope(magnitude), 0}});
  if (op == AugmentOp::kShearY) return affine_matrix({.shear = {0, degrees_of_slope(magnitude)}});
  if (op == AugmentOp::kRotate) return rotation_matrix(magnitude, image);
  const double pixels = std::trunc(magnitude);
  Movement movement;
  movement.center = {image.width * 0.5, image.height * 0.5};
  movement.translate[op == AugmentOp::kTranslateX ? 0 : 1] = pixels;
  return affine_matrix(movement);
}

}  // namespace

AugmentSpace standard_space(int num_bins, ImageSize image) {
  return {.num_bins = num_bins,
          .translate_x = 150.0 / 331.0 * image.width,
          .translate_y = 150.0 / 331.0 * image.height};
}

AugmentSpace wide_space(int num_bins) {
  return {.num_bins = num_bins,
          .shear = 0.99,
          .translate_x = 32.0,
          .translate_y = 32.0,
          .rotate = 135.0,
          .enhance = 0.99,
          .posterize = 6};
}

AugmentSpace mix_space(ImageSize image) {
  return {.num_bins = 10,
          .translate_x = image.width / 3.0,
          .translate_y = image.height / 3.0,
          .kept = 4};
}

bool draw_sign(base::Philox& draws) { return draws.below(2) != 0; }

bool has_sign(AugmentOp op) { return op >= AugmentOp::kShearX && op <= AugmentOp::kSharpness; }

bool has_magnitude(AugmentOp op) { return op >= AugmentOp::kShearX && op <= AugmentOp::kSolarize; }

double magnitude_of(AugmentOp op, int level, const AugmentSpace& space) {
  const auto up_to = [&](double highest) {
    return number_of_range(0.0f, static_cast<float>(highest), space.num_bins, level);
  };
  switch (op) {
    case AugmentOp::kShearX:
    case AugmentOp::kShearY:
      return up_to(space.shear);
    case AugmentOp::kTranslateX:
      return up_to(space.translate_x);
    case AugmentOp::kTranslateY:
      return up_to(space.translate_y);
    case AugmentOp::kRotate:
      return up_to(space.rotate);
    case AugmentOp::kBrightness:
    case AugmentOp::kColor:
    case AugmentOp::kContrast:
    case AugmentOp::kSharpness:
      return up_to(space.enhance);
    case AugmentOp::kPosterize:
      return space.kept - std::nearbyint(level / ((space.num_bins - 1) / space.posterize));
    case AugmentOp::kSolarize:
      return number_of_range(255.0f, 0.0f, space.num_bins, level);
    default:
      return 0.0;
  }
}

void append_augment(AugmentOp op, double magnitude, ImageSize image,
                    AffineInterpolation interpolation, const std::array<int, 3>& fill, Plan& plan) {
  const auto factor = static_cast<float>(1.0 + magnitude);
  switch (op) {
    case AugmentOp::kIdentity:
      break;
    case AugmentOp::kShearX:
    case AugmentOp::kShearY:
    case AugmentOp::kTranslateX:
    case AugmentOp::kTranslateY:
    case AugmentOp::kRotate:
      plan.emplace_back(
          AffineStep{augment_matrix(op, magnitude, image), interpolation, fill_color(fill)});
      break;
    case AugmentOp::kBrightness:
      plan.emplace_back(BrightnessStep{factor});
      break;
    case AugmentOp::kColor:
      plan.emplace_back(SaturationStep{factor});
      break;
    case AugmentOp::kContrast:
      plan.emplace_back(ContrastStep{factor});
      break;
    case AugmentOp::kSharpness:
      plan.emplace_back(SharpnessStep{factor});
      break;
    case AugmentOp::kPosterize:
      plan.emplace_back(PosterizeStep{static_cast<int>(magnitude)});
      break;
    case AugmentOp::kSolarize:
      plan.emplace_back(SolarizeStep{magnitude});
      break;
    case AugmentOp::kAutoContrast:
      plan.emplace_back(AutocontrastStep{});
      break;
    case AugmentOp::kEqualize:
      plan.emplace_back(EqualizeStep{});
      break;
    case AugmentOp::kInvert:
      plan.emplace_back(InvertStep{});
      break;
  }
}

}  // namespace paceline::data
