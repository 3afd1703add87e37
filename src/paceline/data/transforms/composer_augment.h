#pragma once

#include "paceline/base/philox.h"
#include "paceline/data/transforms/plan.h"

#include <array>
#include <span>

namespace paceline::data {

/// The operations that Composer's RandAugment and AugMix choose from, by its names and in its
/// order; the last four are those of its set "original".
enum class ComposerOp {
  kAutocontrast,
  kEqualize,
  kPosterize,
  kRotate,
  kSolarize,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kColor,
  kContrast,
  kBrightness,
  kSharpness,
  kColorOriginal,
  kContrastOriginal,
  kBrightnessOriginal,
  kSharpnessOriginal,
};

/// Composer's sets of operations.
enum class ComposerSet {
  kAll,
  kSafe,      ///< none that tests of robustness use: no colour, contrast, brightness, sharpness
  kOriginal,  ///< these four as the paper's authors have them
};

std::span<const ComposerOp> composer_ops(ComposerSet set);

/// How many numbers Composer draws for it, each uniform in [0, 1): a level, and for what moves
/// pixels a side after it; of colour, contrast, brightness and sharpness a side, and a level after
/// it.
int num_uniforms(ComposerOp op);

/// What Composer hands to Pillow for these draws: degrees, slope, pixels, bits, threshold or
/// factor; 0 where there is none. `severity` lies in [0, 10].
double composer_argument(ComposerOp op, double severity, const std::array<double, 2>& uniforms,
                         ImageSize image);

/// Appends `op` as Composer applies it: bilinear, and black comes in from outside.
void append_composer(ComposerOp op, double argument, ImageSize image, Plan& plan);

/// Appends a drawn one: which of the set, then num_uniforms() numbers.
void append_drawn_composer(ComposerSet set, double severity, ImageSize image, base::Philox& draws,
                           Plan& plan);

}  // namespace paceline::data
