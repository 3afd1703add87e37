#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Blends the image with a smoothed one. Draws one uniform number, below p to act.
struct RandomAdjustSharpnessConfig {
  double sharpness_factor = 2.0;
  double p = 0.5;
};

std::unique_ptr<Transform> make(const RandomAdjustSharpnessConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomAdjustSharpnessConfig> {
  using Config = data::RandomAdjustSharpnessConfig;
  static constexpr std::string_view name = "random_adjust_sharpness";
  static constexpr std::string_view summary = "Sharpens or smooths.";
  static constexpr auto fields =
      std::tuple{field(&Config::sharpness_factor, "sharpness_factor",
                       "0: smoothed; 1: as it is; more: sharper.", InRange{0, 1000}),
                 field(&Config::p, "p", "Probability of the changed image.", InRange{0, 1})};
};
