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

/// A mixture of the image and of `mixture_width` chains of operations on it, in float32. Draws the
/// image's share and that of all chains together, then each chain's (Dirichlet's, by Marsaglia and
/// Tsang's gammas); for each chain its depth, 1 to 3 unless it is given, and for each operation
/// which, its magnitude if it has some, its sign if it has one.
struct AugMixConfig {
  int severity = 3;
  int mixture_width = 3;
  std::optional<int> chain_depth = std::nullopt;
  double alpha = 1.0;
  bool all_ops = true;
  AffineInterpolation interpolation = AffineInterpolation::kBilinear;
  std::array<int, 3> fill = {0, 0, 0};
};

std::unique_ptr<Transform> make(const AugMixConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::AugMixConfig> {
  using Config = data::AugMixConfig;
  static constexpr std::string_view name = "augmix";
  static constexpr std::string_view summary =
      "A random mixture of the image and of chains of operations on it.";
  static constexpr std::string_view paper =
      "Hendrycks et al., \"AugMix: a simple data processing method to improve robustness and "
      "uncertainty\", ICLR 2020.";
  static constexpr auto fields = std::tuple{
      field(&Config::severity, "severity", "Strongest magnitude, of 10.", InRange{1, 10}),
      field(&Config::mixture_width, "mixture_width", "How many chains.", AtLeast{1},
            AtMost{100, "each takes as long as the first"}),
      field(&Config::chain_depth, "chain_depth",
            "How many operations each chain has; null: 1 to 3, drawn.", AtLeast{1},
            AtMost{100, "nothing is left of an image"}),
      field(&Config::alpha, "alpha",
            "Of the Dirichlet distribution of the shares: the smaller, the more has one of them.",
            InRange{0.001, 1000}),
      field(&Config::all_ops, "all_ops",
            "Brightness, colour, contrast and sharpness too, which some tests of robustness use."),
      field(&Config::interpolation, "interpolation", "Filter of what moves pixels."),
      field(&Config::fill, "fill", "Red, green and blue of what comes in from outside.",
            InRange{0, 255})};
};
