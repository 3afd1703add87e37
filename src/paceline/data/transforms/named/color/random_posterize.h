#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Keeps the upper `bits` of each byte. Draws one uniform number, below p to act.
struct RandomPosterizeConfig {
  int bits = 4;
  double p = 0.5;
};

std::unique_ptr<Transform> make(const RandomPosterizeConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomPosterizeConfig> {
  using Config = data::RandomPosterizeConfig;
  static constexpr std::string_view name = "random_posterize";
  static constexpr std::string_view summary = "Leaves few shades of each colour.";
  static constexpr auto fields =
      std::tuple{field(&Config::bits, "bits", "How many of 8 are kept.", InRange{1, 8}),
                 field(&Config::p, "p", "Probability of the changed image.", InRange{0, 1})};
};
