#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Draws one uniform number, below p to flip.
struct RandomHorizontalFlipConfig {
  double p = 0.5;
};

std::unique_ptr<Transform> make(const RandomHorizontalFlipConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomHorizontalFlipConfig> {
  using Config = data::RandomHorizontalFlipConfig;
  static constexpr std::string_view name = "random_horizontal_flip";
  static constexpr std::string_view summary = "Mirrors left and right.";
  static constexpr auto fields =
      std::tuple{field(&Config::p, "p", "Probability of the mirrored image.", InRange{0, 1})};
};
