#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/named/policies/augment_family.h"
#include "paceline/data/transforms/transform.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// `num_ops` operations, drawn with replacement, as `family` has them; what is left out is the
/// family's default. Draws num_ops times:
/// - torchvision: which of 14, all of one magnitude; its sign if it has one; its filter if that is
///   random.
/// - composer: which of the set; then num_uniforms() of it: a level up to the magnitude, and its
///   side.
/// - timm: what TimmRandAugmentConfig draws.
struct RandAugmentConfig {
  AugmentFamily family = AugmentFamily::kTorchvision;
  std::optional<int> num_ops = std::nullopt;
  std::optional<int> magnitude = std::nullopt;
  std::optional<int> num_magnitude_bins = std::nullopt;
  std::optional<ComposerSet> ops = std::nullopt;
  std::optional<std::string> policy = std::nullopt;
  std::optional<AffineInterpolation> interpolation = std::nullopt;
  std::optional<std::array<int, 3>> fill = std::nullopt;
};

std::unique_ptr<Transform> make(const RandAugmentConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandAugmentConfig> {
  using Config = data::RandAugmentConfig;
  static constexpr std::string_view name = "rand_augment";
  static constexpr std::string_view summary =
      "Random operations of about one magnitude, as torchvision, Composer or timm has them.";
  static constexpr std::string_view paper =
      "Cubuk et al., \"RandAugment: practical automated data augmentation with a reduced search "
      "space\", CVPR workshops 2020.";
  static constexpr auto fields = std::tuple{
      field(&Config::family, "family",
            "Whose operations, magnitudes and draws: torchvision, composer or timm."),
      field(&Config::num_ops, "num_ops",
            "How many operations, 2 by default; timm's policy has them as n.", AtLeast{0},
            AtMost{100, "nothing is left of an image"}),
      field(&Config::magnitude, "magnitude",
            "9 by default: of torchvision's magnitudes which, from 0; of composer the severity, up "
            "to 10; timm's policy has it as m.",
            AtLeast{0}, AtMost{1000, "there are no more magnitudes"}),
      field(&Config::num_magnitude_bins, "num_magnitude_bins",
            "Of torchvision: how many magnitudes there are, 31 by default.", AtLeast{2},
            AtMost{1001, "an image has 256 levels"}),
      field(&Config::ops, "ops",
            "Of composer: the set of operations, all by default; safe leaves out colour, contrast, "
            "brightness and sharpness, original has the paper's authors' of these."),
      field(&Config::policy, "policy",
            "Of timm: its text, rand-m9-mstd0.5-inc1 by default; see timm_rand_augment.",
            NotEmpty{}),
      field(&Config::interpolation, "interpolation",
            "Filter of what moves pixels; by default torchvision's nearest or timm's random. "
            "Composer's is bilinear."),
      field(&Config::fill, "fill",
            "Red, green and blue of what comes in from outside; by default torchvision's 0, 0, 0 "
            "or timm's 124, 116, 104. Composer's is black.",
            InRange{0, 255})};
  static void validate(const Config& values, Problems& problems);
};
