#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/named/policies/augment_family.h"
#include "paceline/data/transforms/transform.h"

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// A mixture of the image and of `mixture_width` chains of operations on it, in float32, as
/// `family` has it. Draws the image's share and that of all chains together, then each chain's
/// (Dirichlet's, by Marsaglia and Tsang's gammas); for each chain its depth, 1 to 3 unless it is
/// given, and for each operation which, then
/// - torchvision: its magnitude if it has some, its sign if it has one; its filter if that is
///   random;
/// - composer: num_uniforms() of it: a level up to the severity, and its side;
/// - timm: its level, uniform up to the severity; its sign if it has one; its filter if that is
///   random and it moves pixels.
struct AugMixConfig {
  AugmentFamily family = AugmentFamily::kTorchvision;
  int severity = 3;
  int mixture_width = 3;
  std::optional<int> chain_depth = std::nullopt;
  double alpha = 1.0;
  std::optional<bool> all_ops = std::nullopt;
  std::optional<ComposerSet> ops = std::nullopt;
  std::optional<AffineInterpolation> interpolation = std::nullopt;
  std::optional<std::array<int, 3>> fill = std::nullopt;
};

std::unique_ptr<Transform> make(const AugMixConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::AugMixConfig> {
  using Config = data::AugMixConfig;
  static constexpr std::string_view name = "augmix";
  static constexpr std::string_view summary =
      "A random mixture of the image and of chains of operations on it, as torchvision, Composer "
      "or "
      "timm has it.";
  static constexpr std::string_view paper =
      "Hendrycks et al., \"AugMix: a simple data processing method to improve robustness and "
      "uncertainty\", ICLR 2020.";
  static constexpr auto fields = std::tuple{
      field(&Config::family, "family",
            "Whose operations, magnitudes and draws: torchvision, composer or timm."),
      field(&Config::severity, "severity",
            "Strongest magnitude, of 10; torchvision's are whole numbers from 1 on.",
            InRange{0, 10}),
      field(&Config::mixture_width, "mixture_width", "How many chains.", AtLeast{1},
            AtMost{100, "each takes as long as the first"}),
      field(&Config::chain_depth, "chain_depth",
            "How many operations each chain has; null: 1 to 3, drawn.", AtLeast{1},
            AtMost{100, "nothing is left of an image"}),
      field(&Config::alpha, "alpha",
            "Of the Dirichlet distribution of the shares: the smaller, the more has one of them.",
            InRange{0.001, 1000}),
      field(&Config::all_ops, "all_ops",
            "Of torchvision: brightness, colour, contrast and sharpness too, which some tests of "
            "robustness use; true by default."),
      field(&Config::ops, "ops",
            "Of composer: the set of operations, all by default; safe leaves out colour, contrast, "
            "brightness and sharpness, original has the paper's authors' of these."),
      field(&Config::interpolation, "interpolation",
            "Filter of what moves pixels; by default torchvision's bilinear or timm's random. "
            "Composer's is bilinear."),
      field(&Config::fill, "fill",
            "Red, green and blue of what comes in from outside; by default torchvision's 0, 0, 0 "
            "or timm's 124, 116, 104. Composer's is black.",
            InRange{0, 255})};
  static void validate(const Config& values, Problems& problems);
};
