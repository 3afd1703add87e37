#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/transform.h"

#include <array>
#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Each corner moves inwards, by up to a share of half the width and half the height. Draws one
/// uniform number, below p to act; then column and row of the top left, top right, bottom right and
/// bottom left corner. An image is left as it is whose corners come to lie on a line.
struct RandomPerspectiveConfig {
  double distortion_scale = 0.5;
  double p = 0.5;
  AffineInterpolation interpolation = AffineInterpolation::kBilinear;
  std::array<int, 3> fill = {0, 0, 0};
};

std::unique_ptr<Transform> make(const RandomPerspectiveConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomPerspectiveConfig> {
  using Config = data::RandomPerspectiveConfig;
  static constexpr std::string_view name = "random_perspective";
  static constexpr std::string_view summary = "The image as seen from another place.";
  static constexpr auto fields =
      std::tuple{field(&Config::distortion_scale, "distortion_scale",
                       "Farthest way of a corner, as a share of half the side.", InRange{0, 1}),
                 field(&Config::p, "p", "Probability of the changed image.", InRange{0, 1}),
                 field(&Config::interpolation, "interpolation", "Filter of what moves pixels."),
                 field(&Config::fill, "fill", "Red, green and blue of what comes in from outside.",
                       InRange{0, 255})};
};
