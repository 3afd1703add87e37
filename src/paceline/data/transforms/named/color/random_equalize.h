#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Makes the shades of each channel about equally frequent. Draws one uniform number, below p to
/// act.
struct RandomEqualizeConfig {
  double p = 0.5;
};

std::unique_ptr<Transform> make(const RandomEqualizeConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomEqualizeConfig> {
  using Config = data::RandomEqualizeConfig;
  static constexpr std::string_view name = "random_equalize";
  static constexpr std::string_view summary = "Spreads the shades of each channel evenly.";
  static constexpr auto fields =
      std::tuple{field(&Config::p, "p", "Probability of the changed image.", InRange{0, 1})};
};
