#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/transform.h"

#include <array>
#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// One of 14 operations with any magnitude of a wide range. Draws operation, magnitude, sign; the
/// latter two if it has them.
struct TrivialAugmentWideConfig {
  int num_magnitude_bins = 31;
  AffineInterpolation interpolation = AffineInterpolation::kNearest;
  std::array<int, 3> fill = {0, 0, 0};
};

std::unique_ptr<Transform> make(const TrivialAugmentWideConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::TrivialAugmentWideConfig> {
  using Config = data::TrivialAugmentWideConfig;
  static constexpr std::string_view name = "trivial_augment_wide";
  static constexpr std::string_view summary =
      "One random operation of any magnitude, as torchvision has it.";
  static constexpr std::string_view paper =
      "Müller and Hutter, \"TrivialAugment: tuning-free yet state-of-the-art data augmentation\", "
      "ICCV 2021.";
  static constexpr auto fields = std::tuple{
      field(&Config::num_magnitude_bins, "num_magnitude_bins", "How many magnitudes there are.",
            AtLeast{2}, AtMost{1001, "an image has 256 levels"}),
      field(&Config::interpolation, "interpolation", "Filter of what moves pixels."),
      field(&Config::fill, "fill", "Red, green and blue of what comes in from outside.",
            InRange{0, 255})};
};
