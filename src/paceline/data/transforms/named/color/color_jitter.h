#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Factors for brightness, contrast and saturation are drawn from [max(0, 1 - v), 1 + v], the hue's
/// shift from [-hue, hue] turns. A value of 0 leaves that step out. Draws the order (Fisher-Yates
/// from the back, 3 numbers over brightness, contrast, saturation, hue), then a factor for each
/// that is not 0, in that listing.
struct ColorJitterConfig {
  double brightness = 0.0;
  double contrast = 0.0;
  double saturation = 0.0;
  double hue = 0.0;
};

std::unique_ptr<Transform> make(const ColorJitterConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::ColorJitterConfig> {
  using Config = data::ColorJitterConfig;
  static constexpr std::string_view name = "color_jitter";
  static constexpr std::string_view summary = "Random changes of the colours, in random order.";
  static constexpr auto fields = std::tuple{
      field(&Config::brightness, "brightness", "Factor from max(0, 1 - v) to 1 + v; 0: none.",
            AtLeast{0}, AtMost{100, "nothing is left of an image"}),
      field(&Config::contrast, "contrast", "Factor from max(0, 1 - v) to 1 + v; 0: none.",
            AtLeast{0}, AtMost{100, "nothing is left of an image"}),
      field(&Config::saturation, "saturation", "Factor from max(0, 1 - v) to 1 + v; 0: none.",
            AtLeast{0}, AtMost{100, "nothing is left of an image"}),
      field(&Config::hue, "hue", "Turn from -v to v of the colour circle; 0: none.",
            InRange{0, 0.5})};
};
