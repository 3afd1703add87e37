#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Stretches each channel to 0 .. 255. Draws one uniform number, below p to act.
struct RandomAutocontrastConfig {
  double p = 0.5;
};

std::unique_ptr<Transform> make(const RandomAutocontrastConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomAutocontrastConfig> {
  using Config = data::RandomAutocontrastConfig;
  static constexpr std::string_view name = "random_autocontrast";
  static constexpr std::string_view summary = "Stretches each channel from black to white.";
  static constexpr auto fields =
      std::tuple{field(&Config::p, "p", "Probability of the changed image.", InRange{0, 1})};
};
