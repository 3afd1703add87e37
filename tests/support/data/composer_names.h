#pragma once

#include "paceline/data/transforms/composer_augment.h"

#include <array>
#include <optional>
#include <string_view>

namespace paceline::data {

/// Composer's names of its operations.
inline constexpr std::array<std::string_view, 17> kComposerNames = {
    "autocontrast",      "equalize",       "posterize",         "rotate",
    "solarize",          "shear_x",        "shear_y",           "translate_x",
    "translate_y",       "color",          "contrast",          "brightness",
    "sharpness",         "color_original", "contrast_original", "brightness_original",
    "sharpness_original"};

/// The operation of this name, if there is one.
inline std::optional<ComposerOp> composer_named(std::string_view name) {
  for (std::size_t op = 0; op < kComposerNames.size(); ++op) {
    if (kComposerNames[op] == name) return static_cast<ComposerOp>(op);
  }
  return std::nullopt;
}

}  // namespace paceline::data
