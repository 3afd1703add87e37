#pragma once

#include "paceline/base/philox.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/plan.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace paceline::data {

/// The operations that timm's policies choose from, by its names. Those called increasing are the
/// stronger the higher their level.
enum class TimmOp {
  kAutoContrast,
  kEqualize,
  kInvert,
  kRotate,
  kPosterize,
  kPosterizeIncreasing,
  kSolarize,
  kSolarizeIncreasing,
  kSolarizeAdd,
  kColor,
  kColorIncreasing,
  kContrast,
  kContrastIncreasing,
  kBrightness,
  kBrightnessIncreasing,
  kSharpness,
  kSharpnessIncreasing,
  kShearX,
  kShearY,
  kTranslateXRel,
  kTranslateYRel,
  kDesaturate,
  kGaussianBlur,
};

/// One that a policy chooses with this weight.
struct WeightedOp {
  TimmOp op = TimmOp::kAutoContrast;
  double weight = 1.0;
};

/// timm's sets of rand_augment by name: "" with `increasing`, or not; "weights", "3a", "3aw"; empty
/// for another name.
std::span<const WeightedOp> timm_ops(std::string_view name, bool increasing);

/// Whether the level's effect is reversed half of the time, and whether it moves pixels.
bool has_sign(TimmOp op);
bool moves_pixels(TimmOp op);

/// timm's argument of a level from 0 on, where 10 is the strongest of the paper; 0 for those that
/// take none.
double timm_argument(TimmOp op, double level, bool is_reversed);

/// Appends `op` as timm applies it.
void append_timm(TimmOp op, double argument, ImageSize image, AffineInterpolation interpolation,
                 const FillColor& fill, Plan& plan);

}  // namespace paceline::data
