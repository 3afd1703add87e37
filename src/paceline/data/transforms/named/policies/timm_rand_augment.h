#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/transform.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// timm's rand_augment. Draws for each of n operations: which (weighted ones without replacement),
/// one uniform number, below p to apply it; then its magnitude if mstd is there, its sign if it has
/// one, its filter if that is random and it moves pixels.
struct TimmRandAugmentConfig {
  std::string policy = "rand-m9-mstd0.5-inc1";
  AffineInterpolation interpolation = AffineInterpolation::kRandom;
  std::array<int, 3> fill = {124, 116, 104};
};

std::unique_ptr<Transform> make(const TimmRandAugmentConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::TimmRandAugmentConfig> {
  using Config = data::TimmRandAugmentConfig;
  static constexpr std::string_view name = "timm_rand_augment";
  static constexpr std::string_view summary =
      "Random operations of about one magnitude, as timm has them.";
  static constexpr std::string_view paper =
      "Cubuk et al., \"RandAugment: practical automated data augmentation with a reduced search "
      "space\", CVPR workshops 2020; Wightman et al., \"ResNet strikes back\", 2021.";
  static constexpr auto fields = std::tuple{
      field(&Config::policy, "policy",
            "timm's text: rand, then in any order m (magnitude), n (operations), p (probability of "
            "each), mstd (deviation of the magnitude; above 100: uniform from 0), mmax (its "
            "highest), inc1 (stronger with it), tweights, t3a or t3aw (sets of operations).",
            NotEmpty{}),
      field(&Config::interpolation, "interpolation", "Filter of what moves pixels."),
      field(&Config::fill, "fill", "Red, green and blue of what comes in from outside.",
            InRange{0, 255})};
  static void validate(const Config& values, Problems& problems);
};
