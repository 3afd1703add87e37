#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Every byte becomes what it lacks of 255. Draws one uniform number, below p to act.
struct RandomInvertConfig {
  double p = 0.5;
};

std::unique_ptr<Transform> make(const RandomInvertConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomInvertConfig> {
  using Config = data::RandomInvertConfig;
  static constexpr std::string_view name = "random_invert";
  static constexpr std::string_view summary = "Turns the image into its negative.";
  static constexpr auto fields =
      std::tuple{field(&Config::p, "p", "Probability of the changed image.", InRange{0, 1})};
};
