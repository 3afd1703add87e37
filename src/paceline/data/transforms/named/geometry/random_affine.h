#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/transform.h"

#include <array>
#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Rotation (clockwise), translation by up to a share of width and height, scaling and shearing
/// along the rows and the columns, around the middle. Draws the angle, translation (x, y), scale,
/// shear (x, y).
struct RandomAffineConfig {
  std::array<double, 2> degrees = {0.0, 0.0};
  std::array<double, 2> translate = {0.0, 0.0};
  std::array<double, 2> scale = {1.0, 1.0};
  std::array<double, 2> shear_x = {0.0, 0.0};  ///< in degrees
  std::array<double, 2> shear_y = {0.0, 0.0};  ///< in degrees
  AffineInterpolation interpolation = AffineInterpolation::kNearest;
  std::array<int, 3> fill = {0, 0, 0};
};

std::unique_ptr<Transform> make(const RandomAffineConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomAffineConfig> {
  using Config = data::RandomAffineConfig;
  static constexpr std::string_view name = "random_affine";
  static constexpr std::string_view summary = "Turns, moves, scales and shears by random amounts.";
  static constexpr auto fields =
      std::tuple{field(&Config::degrees, "degrees", "Lowest and highest angle, clockwise.",
                       InRange{-360, 360}),
                 field(&Config::translate, "translate",
                       "Farthest way, as shares of width and height.", InRange{0, 1}),
                 field(&Config::scale, "scale", "Lowest and highest factor.", MoreThan{0},
                       AtMost{1000, "nothing is left of an image"}),
                 field(&Config::shear_x, "shear_x", "Lowest and highest angle along the rows.",
                       InRange{-89, 89}),
                 field(&Config::shear_y, "shear_y", "Lowest and highest angle along the columns.",
                       InRange{-89, 89}),
                 field(&Config::interpolation, "interpolation", "Filter of what moves pixels."),
                 field(&Config::fill, "fill", "Red, green and blue of what comes in from outside.",
                       InRange{0, 255})};
  static void validate(const Config& values, Problems& problems);
};
