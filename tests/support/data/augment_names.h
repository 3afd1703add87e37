#pragma once

#include "paceline/data/transforms/augment.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace paceline::data {

/// torchvision's name of `op`.
inline std::string augment_name(AugmentOp op) {
  static const std::array<std::string, 15> kNames = {
      "Identity",  "ShearX",     "ShearY",       "TranslateX", "TranslateY",
      "Rotate",    "Brightness", "Color",        "Contrast",   "Sharpness",
      "Posterize", "Solarize",   "AutoContrast", "Equalize",   "Invert"};
  return kNames[static_cast<std::size_t>(op)];
}

inline AugmentOp augment_named(const std::string& name) {
  for (int op = 0; op < 15; ++op) {
    if (augment_name(static_cast<AugmentOp>(op)) == name) return static_cast<AugmentOp>(op);
  }
  ADD_FAILURE() << "no operation is called " << name;
  return AugmentOp::kIdentity;
}

}  // namespace paceline::data
