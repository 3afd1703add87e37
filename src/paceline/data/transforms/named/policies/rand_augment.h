#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/transform.h"

#include <array>
#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// `num_ops` of 14 operations, drawn with replacement, all of one magnitude. Draws num_ops times:
/// operation; its sign if it has one.
struct RandAugmentConfig {
  int num_ops = 2;
  int magnitude = 9;
  int num_magnitude_bins = 31;
  AffineInterpolation interpolation = AffineInterpolation::kNearest;
  std::array<int, 3> fill = {0, 0, 0};
};

std::unique_ptr<Transform> make(const RandAugmentConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandAugmentConfig> {
  using Config = data::RandAugmentConfig;
  static constexpr std::string_view name = "rand_augment";
  static constexpr std::string_view summary =
      "Random operations of one magnitude, as torchvision has them.";
  static constexpr std::string_view paper =
      "Cubuk et al., \"RandAugment: practical automated data augmentation with a reduced search "
      "space\", CVPR workshops 2020.";
  static constexpr auto fields = std::tuple{
      field(&Config::num_ops, "num_ops", "How many operations.", AtLeast{0},
            AtMost{100, "nothing is left of an image"}),
      field(&Config::magnitude, "magnitude", "Which of the magnitudes, from 0.", AtLeast{0},
            AtMost{1000, "there are no more magnitudes"}),
      field(&Config::num_magnitude_bins, "num_magnitude_bins", "How many magnitudes there are.",
            AtLeast{2}, AtMost{1001, "an image has 256 levels"}),
      field(&Config::interpolation, "interpolation", "Filter of what moves pixels."),
      field(&Config::fill, "fill", "Red, green and blue of what comes in from outside.",
            InRange{0, 255})};
  static void validate(const Config& values, Problems& problems);
};
