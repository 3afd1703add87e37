#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/transform.h"

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// An angle in degrees from `degrees`, around the middle or `center`, counter-clockwise. Draws the
/// angle.
struct RandomRotationConfig {
  std::array<double, 2> degrees = {-30.0, 30.0};
  AffineInterpolation interpolation = AffineInterpolation::kNearest;
  bool expand = false;
  std::optional<std::array<double, 2>> center = std::nullopt;  ///< x, y in pixels
  std::array<int, 3> fill = {0, 0, 0};
};

std::unique_ptr<Transform> make(const RandomRotationConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomRotationConfig> {
  using Config = data::RandomRotationConfig;
  static constexpr std::string_view name = "random_rotation";
  static constexpr std::string_view summary = "Turns by a random angle around the middle.";
  static constexpr auto fields =
      std::tuple{field(&Config::degrees, "degrees", "Lowest and highest angle, counter-clockwise.",
                       InRange{-360, 360}),
                 field(&Config::interpolation, "interpolation", "Filter of what moves pixels."),
                 field(&Config::expand, "expand",
                       "The result becomes so large that it holds all of the turned image."),
                 field(&Config::center, "center",
                       "Column and row that stay in their place; null: the middle. Not with "
                       "expand.",
                       InRange{-65536, 65536}),
                 field(&Config::fill, "fill", "Red, green and blue of what comes in from outside.",
                       InRange{0, 255})};
  static void validate(const Config& values, Problems& problems);
};
