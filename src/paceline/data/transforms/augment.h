#pragma once

#include "paceline/base/philox.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/plan.h"

#include <array>
#include <cstdint>

namespace paceline::data {

inline constexpr std::uint64_t kNumRandAugmentOps = 14;  ///< all but kInvert

/// The operations that augmentation policies choose from, by torchvision's names and in its order.
enum class AugmentOp {
  kIdentity,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kRotate,
  kBrightness,
  kColor,
  kContrast,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,
  kEqualize,
  kInvert,
};

/// How strong the operations of a policy get: torchvision's _augmentation_space.
struct AugmentSpace {
  int num_bins = 31;
  double shear = 0.3;
  double translate_x = 0.0;  ///< pixels
  double translate_y = 0.0;
  double rotate = 30.0;  ///< degrees
  double enhance = 0.9;  ///< of brightness, colour, contrast, sharpness: factor 1 + magnitude
  double posterize = 4;  ///< bits that the strongest takes away
  double kept = 8;       ///< bits that the weakest leaves
};

/// RandAugment's and AutoAugment's for an image of size `image`, TrivialAugmentWide's, AugMix's.
AugmentSpace standard_space(int num_bins, ImageSize image);
AugmentSpace wide_space(int num_bins);
AugmentSpace mix_space(ImageSize image);

/// torchvision's magnitude number `level` of `op`; 0 if it has none.
double magnitude_of(AugmentOp op, int level, const AugmentSpace& space);
bool has_magnitude(AugmentOp op);
/// Whether its magnitude is negated half of the time.
bool has_sign(AugmentOp op);
bool draw_sign(base::Philox& draws);

/// Appends `op` as torchvision applies it; nothing for kIdentity.
void append_augment(AugmentOp op, double magnitude, ImageSize image,
                    AffineInterpolation interpolation, const std::array<int, 3>& fill, Plan& plan);

}  // namespace paceline::data
