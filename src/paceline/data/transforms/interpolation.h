#pragma once

#include "paceline/config/schema.h"

#include <array>

namespace paceline::data {

/// Pillow's filters of a resize: antialiased but for kNearest, which takes one pixel for each.
/// kRandom: bilinear or bicubic, drawn for each image as timm does; no step has it.
enum class Interpolation { kNearest, kBox, kBilinear, kHamming, kBicubic, kLanczos, kRandom };
/// Pillow's filters of affine transforms, which are not antialiased.
enum class AffineInterpolation { kNearest, kBilinear, kBicubic, kRandom };

}  // namespace paceline::data

template <>
struct paceline::config::EnumNames<paceline::data::Interpolation> {
  static constexpr std::array names{EnumName{data::Interpolation::kNearest, "nearest"},
                                    EnumName{data::Interpolation::kBox, "box"},
                                    EnumName{data::Interpolation::kBilinear, "bilinear"},
                                    EnumName{data::Interpolation::kHamming, "hamming"},
                                    EnumName{data::Interpolation::kBicubic, "bicubic"},
                                    EnumName{data::Interpolation::kLanczos, "lanczos"},
                                    EnumName{data::Interpolation::kRandom, "random"}};
};

template <>
struct paceline::config::EnumNames<paceline::data::AffineInterpolation> {
  static constexpr std::array names{EnumName{data::AffineInterpolation::kNearest, "nearest"},
                                    EnumName{data::AffineInterpolation::kBilinear, "bilinear"},
                                    EnumName{data::AffineInterpolation::kBicubic, "bicubic"},
                                    EnumName{data::AffineInterpolation::kRandom, "random"}};
};
