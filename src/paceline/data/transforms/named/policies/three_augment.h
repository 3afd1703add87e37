#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <array>
#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Grey, solarised or blurred, each as often; then brightness, contrast and saturation change as in
/// color_jitter. Draws which of the three, the blur's deviation if it is that, what color_jitter
/// draws.
struct ThreeAugmentConfig {
  double threshold = 128.0;
  std::array<double, 2> sigma = {0.1, 2.0};
  double jitter = 0.3;
};

std::unique_ptr<Transform> make(const ThreeAugmentConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::ThreeAugmentConfig> {
  using Config = data::ThreeAugmentConfig;
  static constexpr std::string_view name = "three_augment";
  static constexpr std::string_view summary =
      "One of grey, solarised and blurred, then changed colours: DeiT III's 3-Augment.";
  static constexpr std::string_view paper =
      "Touvron et al., \"DeiT III: revenge of the ViT\", ECCV 2022.";
  static constexpr auto fields = std::tuple{
      field(&Config::threshold, "threshold", "Solarised are bytes from here on.", InRange{0, 256}),
      field(&Config::sigma, "sigma",
            "Lowest and highest deviation of the blur, Pillow's, in pixels.", MoreThan{0},
            AtMost{1000, "nothing is left of an image"}),
      field(&Config::jitter, "jitter",
            "Brightness, contrast and saturation change by factors from max(0, 1 - v) "
            "to 1 + v; 0: none.",
            AtLeast{0}, AtMost{100, "nothing is left of an image"})};
  static void validate(const Config& values, Problems& problems);
};
