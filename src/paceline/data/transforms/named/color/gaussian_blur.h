#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <array>
#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Each pixel becomes a mean of those around it, weighted by a normal distribution whose deviation
/// is from `sigma`. Draws the deviation.
struct GaussianBlurConfig {
  config::Sides kernel_size = 9;
  std::array<double, 2> sigma = {0.1, 2.0};
};

std::unique_ptr<Transform> make(const GaussianBlurConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::GaussianBlurConfig> {
  using Config = data::GaussianBlurConfig;
  static constexpr std::string_view name = "gaussian_blur";
  static constexpr std::string_view summary =
      "Blurs by a random strength; inside random_apply only some images.";
  static constexpr auto fields =
      std::tuple{field(&Config::kernel_size, "kernel_size",
                       "Pixels that a mean is of, along each side or [height, width]; odd.",
                       AtLeast{1}, AtMost{1001, "no image is blurred by as much"}),
                 field(&Config::sigma, "sigma", "Lowest and highest deviation in pixels.",
                       MoreThan{0}, AtMost{1000, "nothing is left of an image"})};
  static void validate(const Config& values, Problems& problems);
};
