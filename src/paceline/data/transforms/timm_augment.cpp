#include "paceline/data/transforms/timm_augment.h"

#include <algorithm>
#include <array>

namespace paceline::data {
namespace {

using enum TimmOp;

constexpr std::array<WeightedOp, 15> kPlain = {{{kAutoContrast},
                                                {kEqualize},
                                                {kInvert},
                                                {kRotate},
                                                {kPosterize},
                                                {kSolarize},
                                                {kSolarizeAdd},
                                                {kColor},
                                                {kContrast},
                                                {kBrightness},
                                                {kSharpness},
                                                {kShearX},
                                                {kShearY},
                                                {kTranslateXRel},
                                                {kTranslateYRel}}};

constexpr std::array<WeightedOp, 15> kIncreasing = {{{kAutoContrast},
                                                     {kEqualize},
                                                     {kInvert},
                                                     {kRotate},
                                                     {kPosterizeIncreasing},
                                                     {kSolarizeIncreasing},
                                                     {kSolarizeAdd},
                                                     {kColorIncreasing},
                                                     {kContrastIncreasing},
                                                     {kBrightnessIncreasing},
                                                     {kSharpnessIncreasing},
                                                     {kShearX},
                                                     {kShearY},
                                                     {kTranslateXRel},
                                                     {kTranslateYRel}}};

constexpr std::array<WeightedOp, 3> kThree = {
    {{kSolarizeIncreasing}, {kDesaturate}, {kGaussianBlur}}};

constexpr std::array<WeightedOp, 14> kWeightedThree = {{{kSolarizeIncreasing, 6},
                                                        {kDesaturate, 6},
                                                        {kGaussianBlur, 6},
                                                        {kRotate, 3},
                                                        {kShearX, 2},
                                                        {kShearY, 2},
                                                        {kPosterizeIncreasing, 1},
                                                        {kAutoContrast, 1},
                                                        {kColorIncreasing, 1},
                                                        {kSharpnessIncreasing, 1},
                                                        {kContrastIncreasing, 1},
                                                        {kBrightnessIncreasing, 1},
                                                        {kEqualize, 1},
                                                        {kInvert, 1}}};

constexpr std::array<WeightedOp, 15> kWeighted = {{{kRotate, 3},
                                                   {kShearX, 2},
                                                   {kShearY, 2},
                                                   {kTranslateXRel, 1},
                                                   {kTranslateYRel, 1},
                                                   {kColorIncreasing, 0.25},
                                                   {kSharpnessIncreasing, 0.25},
                                                   {kAutoContrast, 0.25},
                                                   {kSolarizeIncreasing, 0.05},
                                                   {kSolarizeAdd, 0.05},
                                                   {kContrastIncreasing, 0.05},
                                                   {kBrightnessIncreasing, 0.05},
                                                   {kEqualize, 0.05},
                                                   {kPosterizeIncreasing, 0.05},
                                                   {kInvert, 0.05}}};

double between(double low, double high, double share) {
  return std::clamp(low + (high - low) * share, low, high);
}

/// Where each pixel comes from: shearing about the top left corner, or moving by a share of a side.
AffineMatrix movement_of(TimmOp op, double argument, ImageSize image) {
  switch (op) {
    case kShearX:
      return {1, argument, 0, 0, 1, 0};
    case kShearY:
      return {1, 0, 0, argument, 1, 0};
    case kTranslateXRel:
      return {1, 0, argument * image.width, 0, 1, 0};
    case kTranslateYRel:
      return {1, 0, 0, 0, 1, argument * image.height};
    default:
      return rotation_matrix(argument, image);
  }
}

}  // namespace

std::span<const WeightedOp> timm_ops(std::string_view name, bool increasing) {
  if (name == "weights") return kWeighted;
  if (name == "3aw") return kWeightedThree;
  if (name == "3a") return kThree;
  if (!name.empty()) return {};
  return increasing ? kIncreasing : kPlain;
}

bool has_sign(TimmOp op) {
  switch (op) {
    case kColorIncreasing:
    case kContrastIncreasing:
    case kBrightnessIncreasing:
    case kSharpnessIncreasing:
      return true;
    default:
      return moves_pixels(op);
  }
}

bool moves_pixels(TimmOp op) { return op == kRotate || (op >= kShearX && op <= kTranslateYRel); }

double timm_argument(TimmOp op, double level, bool is_reversed) {
  const double share = level / 10.0;
  const double sign = is_reversed ? -1.0 : 1.0;
  switch (op) {
    case kAutoContrast:
    case kEqualize:
    case kInvert:
      return 0.0;
    case kRotate:
      return sign * (share * 30.0);
    case kPosterize:
      return static_cast<int>(share * 4);
    case kPosterizeIncreasing:
      return 4 - static_cast<int>(share * 4);
    case kSolarize:
      return std::min(256, static_cast<int>(share * 256));
    case kSolarizeIncreasing:
      return 256 - std::min(256, static_cast<int>(share * 256));
    case kSolarizeAdd:
      return std::min(128, static_cast<int>(share * 110));
    case kColor:
    case kContrast:
    case kBrightness:
    case kSharpness:
      return share * 1.8 + 0.1;
    case kColorIncreasing:
    case kContrastIncreasing:
    case kBrightnessIncreasing:
    case kSharpnessIncreasing:
      return std::max(0.1, 1.0 + sign * (share * 0.9));
    case kShearX:
    case kShearY:
      return sign * (share * 0.3);
    case kTranslateXRel:
    case kTranslateYRel:
      return sign * (share * 0.45);
    case kDesaturate:
      return between(0.5, 1.0, share);
    case kGaussianBlur:
      return between(0.1, 2.0, share);
  }
  return 0.0;
}

void append_timm(TimmOp op, double argument, ImageSize image, AffineInterpolation interpolation,
                 const FillColor& fill, Plan& plan) {
  if (moves_pixels(op)) {
    plan.emplace_back(AffineStep{movement_of(op, argument, image), interpolation, fill});
    return;
  }
  const auto factor = static_cast<float>(argument);
  const int whole = static_cast<int>(argument);
  switch (op) {
    case kAutoContrast:
      plan.emplace_back(AutocontrastStep{});
      break;
    case kEqualize:
      plan.emplace_back(EqualizeStep{});
      break;
    case kInvert:
      plan.emplace_back(InvertStep{});
      break;
    case kPosterize:
    case kPosterizeIncreasing:
      plan.emplace_back(PosterizeStep{std::clamp(whole, 0, 8)});
      break;
    case kSolarize:
    case kSolarizeIncreasing:
      plan.emplace_back(SolarizeStep{argument});
      break;
    case kSolarizeAdd:
      plan.emplace_back(SolarizeAddStep{whole});
      break;
    case kColor:
    case kColorIncreasing:
      plan.emplace_back(SaturationStep{factor});
      break;
    case kContrast:
    case kContrastIncreasing:
      plan.emplace_back(ContrastStep{factor});
      break;
    case kBrightness:
    case kBrightnessIncreasing:
      plan.emplace_back(BrightnessStep{factor});
      break;
    case kSharpness:
    case kSharpnessIncreasing:
      plan.emplace_back(SharpnessStep{factor});
      break;
    case kDesaturate:
      plan.emplace_back(SaturationStep{static_cast<float>(std::clamp(1.0 - argument, 0.0, 1.0))});
      break;
    case kGaussianBlur:
      plan.emplace_back(BoxBlurStep{factor});
      break;
    default:
      break;
  }
}

}  // namespace paceline::data
