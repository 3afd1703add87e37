#pragma once

#include "paceline/config/schema.h"

#include <array>

namespace paceline::data {

/// Pillow's antialiased filters.
enum class Interpolation { kBilinear, kBicubic };
/// Pillow's filters of affine transforms, which are not antialiased.
enum class AffineInterpolation { kNearest, kBilinear };

}  // namespace paceline::data

template <>
struct paceline::config::EnumNames<paceline::data::Interpolation> {
  static constexpr std::array names{EnumName{data::Interpolation::kBilinear, "bilinear"},
                                    EnumName{data::Interpolation::kBicubic, "bicubic"}};
};

template <>
struct paceline::config::EnumNames<paceline::data::AffineInterpolation> {
  static constexpr std::array names{EnumName{data::AffineInterpolation::kNearest, "nearest"},
                                    EnumName{data::AffineInterpolation::kBilinear, "bilinear"}};
};
