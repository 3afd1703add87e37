#pragma once

#include "paceline/data/transforms/timm_augment.h"

#include <array>
#include <optional>
#include <string_view>

namespace paceline::data {

/// The operation of timm's name, if there is one.
inline std::optional<TimmOp> timm_named(std::string_view name) {
  constexpr std::array<std::string_view, 23> kNames = {"AutoContrast",
                                                       "Equalize",
                                                       "Invert",
                                                       "Rotate",
                                                       "Posterize",
                                                       "PosterizeIncreasing",
                                                       "Solarize",
                                                       "SolarizeIncreasing",
                                                       "SolarizeAdd",
                                                       "Color",
                                                       "ColorIncreasing",
                                                       "Contrast",
                                                       "ContrastIncreasing",
                                                       "Brightness",
                                                       "BrightnessIncreasing",
                                                       "Sharpness",
                                                       "SharpnessIncreasing",
                                                       "ShearX",
                                                       "ShearY",
                                                       "TranslateXRel",
                                                       "TranslateYRel",
                                                       "Desaturate",
                                                       "GaussianBlur"};
  for (std::size_t op = 0; op < kNames.size(); ++op) {
    if (kNames[op] == name) return static_cast<TimmOp>(op);
  }
  return std::nullopt;
}

}  // namespace paceline::data
