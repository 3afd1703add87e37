#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Red, green and blue become the luma. Draws one uniform number, below p for grey.
struct RandomGrayscaleConfig {
  double p = 0.1;
};

std::unique_ptr<Transform> make(const RandomGrayscaleConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomGrayscaleConfig> {
  using Config = data::RandomGrayscaleConfig;
  static constexpr std::string_view name = "random_grayscale";
  static constexpr std::string_view summary = "Makes all three channels the luma; p = 1: always.";
  static constexpr auto fields =
      std::tuple{field(&Config::p, "p", "Probability of the grey image.", InRange{0, 1})};
};
