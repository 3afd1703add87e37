#pragma once

#include "paceline/config/schema.h"

#include <array>

namespace paceline::data {

/// Pillow's antialiased filters.
/// kRandom: bilinear or bicubic, drawn for each image; no step has it.
enum class Interpolation { kBilinear, kBicubic, kRandom };
/// Pillow's filters of affine transforms, which are not antialiased.
enum class AffineInterpolation { kNearest, kBilinear, kBicubic, kRandom };

}  // namespace paceline::data

template <>
struct paceline::config::EnumNames<paceline::data::Interpolation> {
  static constexpr std::array names{EnumName{data::Interpolation::kBilinear, "bilinear"},
                                    EnumName{data::Interpolation::kBicubic, "bicubic"},
                                    EnumName{data::Interpolation::kRandom, "random"}};
};

template <>
struct paceline::config::EnumNames<paceline::data::AffineInterpolation> {
  static constexpr std::array names{EnumName{data::AffineInterpolation::kNearest, "nearest"},
                                    EnumName{data::AffineInterpolation::kBilinear, "bilinear"},
                                    EnumName{data::AffineInterpolation::kBicubic, "bicubic"},
                                    EnumName{data::AffineInterpolation::kRandom, "random"}};
};
