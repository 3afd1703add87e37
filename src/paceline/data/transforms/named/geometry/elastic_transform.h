#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/transform.h"

#include <array>
#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Each pixel takes its colour from a place beside it; how far is smooth noise. Draws the noise's
/// seed.
struct ElasticTransformConfig {
  std::array<double, 2> alpha = {50.0, 50.0};
  std::array<double, 2> sigma = {5.0, 5.0};
  AffineInterpolation interpolation = AffineInterpolation::kBilinear;
  std::array<int, 3> fill = {0, 0, 0};
};

std::unique_ptr<Transform> make(const ElasticTransformConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::ElasticTransformConfig> {
  using Config = data::ElasticTransformConfig;
  static constexpr std::string_view name = "elastic_transform";
  static constexpr std::string_view summary = "Moves pixels smoothly, as water does what is in it.";
  static constexpr std::string_view paper =
      "Simard et al., \"Best practices for convolutional neural networks applied to visual "
      "document analysis\", ICDAR 2003.";
  static constexpr auto fields = std::tuple{
      field(&Config::alpha, "alpha", "How strongly, along rows and columns.", AtLeast{0},
            AtMost{1e5, "nothing is left of an image"}),
      field(&Config::sigma, "sigma", "How smoothly: a deviation in pixels, along rows and columns.",
            MoreThan{0}, AtMost{1000, "nothing moves"}),
      field(&Config::interpolation, "interpolation", "nearest or bilinear."),
      field(&Config::fill, "fill", "Red, green and blue of what comes in from outside.",
            InRange{0, 255})};
  static void validate(const Config& values, Problems& problems);
};
