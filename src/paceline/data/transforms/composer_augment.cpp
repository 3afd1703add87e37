#include "paceline/data/transforms/composer_augment.h"

#include "paceline/data/transforms/draw.h"
#include "paceline/data/transforms/kernels/affine_matrix.h"

#include <cstddef>

namespace paceline::data {
namespace {

constexpr std::size_t kNumSafeOps = 9;

constexpr auto all_composer_ops() {
  using enum ComposerOp;
  return std::array{kAutocontrast, kEqualize,   kPosterize,  kRotate,     kSolarize,
                    kShearX,       kShearY,     kTranslateX, kTranslateY, kColor,
                    kContrast,     kBrightness, kSharpness};
}

constexpr auto original_composer_ops() {
  using enum ComposerOp;
  return std::array{kAutocontrast,     kEqualize,      kPosterize,        kRotate,
                    kSolarize,         kShearX,        kShearY,           kTranslateX,
                    kTranslateY,       kColorOriginal, kContrastOriginal, kBrightnessOriginal,
                    kSharpnessOriginal};
}

constexpr auto kAllComposerOps = all_composer_ops();
constexpr auto kOriginalComposerOps = original_composer_ops();

/// As numpy's uniform().
double number_between(double low, double high, double share) { return low + (high - low) * share; }

double scaled_level(double level, double highest) { return level * highest / 10.0; }

int whole_level(double level, double highest) {
  return static_cast<int>(scaled_level(level, highest));
}

/// A factor above or below 1, which is no change: evenly on either side.
double symmetric_factor(double severity, const std::array<double, 2>& uniforms) {
  if (uniforms[0] > 0.5) return number_between(1.0, severity, uniforms[1]);
  return number_between(1.0 - 0.09 * severity, 1.0, uniforms[1]);
}

/// Where each pixel comes from.
AffineMatrix movement_of(ComposerOp op, double argument, ImageSize image) {
  using enum ComposerOp;
  switch (op) {
    case kShearX:
      return {1, argument, 0, 0, 1, 0};
    case kShearY:
      return {1, 0, 0, argument, 1, 0};
    case kTranslateX:
      return {1, 0, argument, 0, 1, 0};
    case kTranslateY:
      return {1, 0, 0, 0, 1, argument};
    default:
      return rotation_matrix(argument, image);
  }
}

}  // namespace

std::span<const ComposerOp> composer_ops(ComposerSet set) {
  if (set == ComposerSet::kOriginal) return kOriginalComposerOps;
  const std::span<const ComposerOp> all = kAllComposerOps;
  return set == ComposerSet::kSafe ? all.first(kNumSafeOps) : all;
}

int num_uniforms(ComposerOp op) {
  using enum ComposerOp;
  switch (op) {
    case kAutocontrast:
    case kEqualize:
      return 0;
    case kPosterize:
    case kSolarize:
    case kColorOriginal:
    case kContrastOriginal:
    case kBrightnessOriginal:
    case kSharpnessOriginal:
      return 1;
    default:
      return 2;
  }
}

double composer_argument(ComposerOp op, double severity, const std::array<double, 2>& uniforms,
                         ImageSize image) {
  using enum ComposerOp;
  // 10 is the strongest, and even of severity 0 some are up to 0.1.
  const double level = number_between(0.1, severity, uniforms[0]);
  const double sign = uniforms[1] > 0.5 ? -1.0 : 1.0;
  switch (op) {
    case kAutocontrast:
    case kEqualize:
      return 0.0;
    case kPosterize:
      return 4 - whole_level(level, 4);
    case kRotate:
      return sign * whole_level(level, 30);
    case kSolarize:
      return 256 - whole_level(level, 256);
    case kShearX:
    case kShearY:
      return sign * scaled_level(level, 0.3);
    case kTranslateX:
      return sign * whole_level(level, image.width / 3.0);
    case kTranslateY:
      return sign * whole_level(level, image.height / 3.0);
    case kColor:
    case kContrast:
    case kSharpness:
      return symmetric_factor(severity, uniforms);
    case kBrightness: {
      const double factor = symmetric_factor(severity, uniforms);
      return factor > 1 ? factor * 0.75 : factor;
    }
    default:
      return scaled_level(level, 1.8) + 0.1;
  }
}

void append_composer(ComposerOp op, double argument, ImageSize image, Plan& plan) {
  using enum ComposerOp;
  const auto factor = static_cast<float>(argument);
  switch (op) {
    case kAutocontrast:
      plan.emplace_back(AutocontrastStep{});
      break;
    case kEqualize:
      plan.emplace_back(EqualizeStep{});
      break;
    case kPosterize:
      plan.emplace_back(PosterizeStep{static_cast<int>(argument)});
      break;
    case kSolarize:
      plan.emplace_back(SolarizeStep{argument});
      break;
    case kColor:
    case kColorOriginal:
      plan.emplace_back(SaturationStep{factor});
      break;
    case kContrast:
    case kContrastOriginal:
      plan.emplace_back(ContrastStep{factor});
      break;
    case kBrightness:
    case kBrightnessOriginal:
      plan.emplace_back(BrightnessStep{factor});
      break;
    case kSharpness:
    case kSharpnessOriginal:
      plan.emplace_back(SharpnessStep{factor});
      break;
    default:
      plan.emplace_back(
          AffineStep{movement_of(op, argument, image), AffineInterpolation::kBilinear, {0, 0, 0}});
  }
}

void append_drawn_composer(ComposerSet set, double severity, ImageSize image, base::Philox& draws,
                           Plan& plan) {
  const auto ops = composer_ops(set);
  const ComposerOp op = ops[draws.below(ops.size())];
  std::array<double, 2> uniforms = {};
  for (int i = 0; i < num_uniforms(op); ++i)
    uniforms[static_cast<std::size_t>(i)] = draws.uniform();
  append_composer(op, composer_argument(op, severity, uniforms, image), image, plan);
}

}  // namespace paceline::data
