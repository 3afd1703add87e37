#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Cut from the centre; an image that is too small gets a black border. Draws nothing.
struct CenterCropConfig {
  config::Sides size = 224;
};

std::unique_ptr<Transform> make(const CenterCropConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::CenterCropConfig> {
  using Config = data::CenterCropConfig;
  static constexpr std::string_view name = "center_crop";
  static constexpr std::string_view summary =
      "The piece in the middle; black where the image is smaller.";
  static constexpr auto fields =
      std::tuple{field(&Config::size, "size", "Side of the piece in pixels, or [height, width].",
                       AtLeast{1}, AtMost{16384, "no image has a longer side"})};
  static void validate(const Config& values, Problems& problems);
};
