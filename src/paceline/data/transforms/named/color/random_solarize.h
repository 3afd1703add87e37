#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Inverts bytes that are not below `threshold`. Draws one uniform number, below p to act.
struct RandomSolarizeConfig {
  double threshold = 128.0;
  double p = 0.5;
};

std::unique_ptr<Transform> make(const RandomSolarizeConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomSolarizeConfig> {
  using Config = data::RandomSolarizeConfig;
  static constexpr std::string_view name = "random_solarize";
  static constexpr std::string_view summary = "Inverts what is bright.";
  static constexpr auto fields = std::tuple{
      field(&Config::threshold, "threshold", "Bytes from here on are inverted.", InRange{0, 256}),
      field(&Config::p, "p", "Probability of the changed image.", InRange{0, 1})};
};
